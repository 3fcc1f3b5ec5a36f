# frozen_string_literal: true

# Ticks where a thread's machine stack is almost full: the signal must have space, and the VM's own handling of the overflow must
# not be disturbed.
RSpec.describe "Samples at the end of a machine stack" do
  include_context "with a program"

  # C functions that recurse until the stack overflows, again and again, with garbage collected in between.
  def overflow(call, thread: false)
    run_json(<<~RUBY)
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
      print_json(overflows: overflows, samples: profile.stats[:samples])
    RUBY
  end

  { "Marshal.dump" => "Marshal.dump(nested)", "inspect" => "nested.inspect" }.each do |name, call|
    [false, true].each do |thread|
      it "leave #{name} of a deep Array its SystemStackError, on #{thread ? "a thread" : "the main thread"}" do
        expect(overflow(call, thread: thread)).to match(overflows: be_positive, samples: be_positive)
      end
    end
  end

  it "do not block the next garbage collection with a buffer that a longjmp left taken" do
    samples = run_json(<<~RUBY, timeout: 20)
      Profiler.run { 10_000.times { |number| number.to_s } }
      Profiler::Testing.leave_scratch
      GC.start
      print_json(Profiler.run(interval: 50) { 300_000.times { |number| number.to_s } }.stats[:samples])
    RUBY
    expect(samples).to be_positive
  end
end
