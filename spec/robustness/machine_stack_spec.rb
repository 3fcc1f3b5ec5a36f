# frozen_string_literal: true

# Ticks where a thread's machine stack is almost full: the signal must have space, and the VM's own handling of the overflow must
# not be disturbed.
RSpec.describe "Samples at the end of a machine stack" do
  # C functions that recurse until the stack overflows, again and again, with garbage collected in between.
  def overflow(call, thread: false)
    code = <<~RUBY
      require "profiler"
      nested = []
      100_000.times { nested = [nested] }
      overflows = 0
      work = lambda do
        till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 4
        while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
          begin
            #{call}
          rescue SystemStackError, ArgumentError
            overflows += 1
          end
          GC.start if (overflows % 5).zero?
        end
      end
      profile = Profiler.run(interval: 50) { #{thread ? "Thread.new(&work).join" : "work.call"} }
      puts "overflows \#{overflows.positive?}, samples \#{profile.stats[:samples].positive?}"
    RUBY
    ruby_child("-e", code, timeout: 60)
  end

  { "Marshal.dump" => "Marshal.dump(nested)", "inspect" => "nested.inspect" }.each do |name, call|
    [false, true].each do |thread|
      it "leave #{name} of a deep Array its SystemStackError, on #{thread ? "a thread" : "the main thread"}" do
        result = overflow(call, thread: thread)
        expect(result.status).to be_success, "#{result.status}\n#{result.err[0, 2_000]}"
        expect(result.out).to eq("overflows true, samples true\n")
      end
    end
  end

  it "do not block the next garbage collection with a buffer that a longjmp left taken" do
    result = ruby_child("-e", <<~RUBY, timeout: 20)
      require "profiler"
      Profiler.run { 10_000.times { |number| number.to_s } }
      Profiler::Testing.leave_scratch
      GC.start
      profile = Profiler.run(interval: 50) { 300_000.times { |number| number.to_s } }
      puts "collected, samples \#{profile.stats[:samples].positive?}"
    RUBY
    expect(result.out).to eq("collected, samples true\n"), result.err[0, 2_000]
  end
end
