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

  # Ruby jumps out of what runs into the end: of the allocator too, whose lock is then never released.
  it "let a session run or refuse it, however near the end" do
    counts = run_json(<<~RUBY, timeout: 20)
      def recurse(from, call, level = 0)
        call.call if level >= from
        [level].each { |number| @deepest = number; recurse(from, call, number + 1) }
      end
      def overflow(from = Float::INFINITY, &call)
        recurse(from, call)
      rescue SystemStackError
        nil
      end
      counts = { refused: 0, threads: 0 }
      session = lambda do
        Profiler.run(interval: 100) { 3_000.times { |number| number.to_s } }.samples
      rescue SystemStackError
        counts[:refused] += 1
        raise
      end
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 4
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
        Thread.new { overflow && nil; overflow(@deepest - rand(5..60), &session) }.join
        counts[:threads] += 1
      end
      print_json(counts)
    RUBY
    expect(counts).to match(refused: be_positive, threads: be_positive)
  end
end
