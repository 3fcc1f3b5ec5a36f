# frozen_string_literal: true

# Waiting threads are not disturbed: from Ruby 3.3 on, the VM reports which threads wait; before that, few waits are interrupted.
RSpec.describe "Wall clock time" do
  include_context "with a program"

  measured = RUBY_VERSION >= "3.3"
  def measured_only = (skip "waits are sampled here" if RUBY_VERSION < "3.3")

  it "is measured without shortening any of Ruby's waits", :timed do
    took, interrupted = program_json("wall/waits")
    expect(took.size).to eq(10)
    expect(took.values).to all(be_between(299_000_000, 5_000_000_000)), took.inspect
    expect(interrupted).to measured ? eq(0) : be_between(10, 1_000)
  end

  it "is measured with few interruptions of a wait before Ruby 3.3, and counts them", :timed do
    skip "no wait is interrupted here" if measured
    ended, *counts = run_json(<<~RUBY)
      require "fiddle"
      int = Fiddle::TYPE_INT
      poll = Fiddle::Function.new(Fiddle.dlopen(nil)["poll"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG, int], int)
      till = now + 2_000_000_000
      ended = 0
      polls = Profiler.run(mode: :wall, interval: 1000, threads: :current) { ended += poll.call(nil, 0, 500).abs while now < till }
      sleeps = Profiler.run(mode: :wall, interval: 1000) { sleep 2 }
      print_json([ended, *[polls, sleeps].map { |profile| profile.stats[:waits_interrupted] }])
    RUBY
    # 2,000 ticks might interrupt. 4 and 5 do on a quiet machine. A wake-up begins a new wait, and on a busy machine the cost of
    # a tick varies: 160 were seen.
    expect([ended, *counts]).to all be_between(1, 500)
    expect(counts.first).to be >= ended
  end

  it "is measured without EINTR in a thread that has released the GVL", :timed do
    measured_only
    expect(run_json(<<~RUBY)).to eq([[0, 0, 0, 0]] * 2)
      require "fiddle"
      libc = Fiddle.dlopen(nil)
      int, pointer = Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP
      poll = Fiddle::Function.new(libc["poll"], [pointer, Fiddle::TYPE_LONG, int], int)
      usleep = Fiddle::Function.new(libc["usleep"], [int], int)
      results = nil
      Profiler.run(mode: :wall, interval: 1000) do
        busy = Thread.new { spin(900) }
        results = [-> { poll.call(nil, 0, 200) }, -> { usleep.call(200_000) }].map { |call| Thread.new { 4.times.map { call.call } } }.map(&:value)
        busy.join
      end
      print_json(results)
    RUBY
  end

  it "is measured without EINTR when a wait begins while a tick is on its way", :timed do
    measured_only
    interrupted = run_json(<<~RUBY)
      require "fiddle"
      usleep = Fiddle::Function.new(Fiddle.dlopen(nil)["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT)
      results = nil
      Profiler.run(mode: :wall, interval: 100) do
        busy = Thread.new { spin(1_000) }
        results = Array.new(3) { Thread.new { Array.new(100) { 200.times(&:to_s); usleep.call(2_000) }.count(-1) } }.map(&:value)
        busy.join
      end
      print_json(results.sum)
    RUBY
    # This was one in twelve before. A ticker that loses its turn just before it sends a signal still interrupts a wait.
    expect(interrupted).to be < 10
  end

  it "is measured with few interrupted calls in a thread that keeps the GVL", :timed do
    measured_only
    interrupted = run_json(<<~RUBY)
      require "fiddle"
      int = Fiddle::TYPE_INT
      poll = Fiddle::Function.new(Fiddle.dlopen(nil)["poll"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG, int], int, need_gvl: true)
      count = 0
      Profiler.run(mode: :wall, interval: 1000) do
        busy = Thread.new { spin(100_000) }
        till = now + 2_000_000_000
        count += poll.call(nil, 0, 200).abs while now < till
        busy.kill
      end
      print_json(count)
    RUBY
    # 2,000 ticks might have; 2 % is what is allowed. Without the threshold it was one in seven.
    expect(interrupted).to be <= 40
  end
end
