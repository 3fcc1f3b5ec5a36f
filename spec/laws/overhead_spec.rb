# frozen_string_literal: true

# The cost as the profiler itself counts it: what its clocks show, and the kernel's part of each tick.
RSpec.describe "max_overhead" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    def deep(depth, &block) = depth.zero? ? block.call : deep(depth - 1, &block)
    def share_of(profile)
      stats = profile.stats
      (stats[:handler_ns] + stats[:collector_ns] + 20_000.0 * stats[:samples]) / CPU.call
    end
    CPU = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) - $before }
    def measured(threads, **options)
      $before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
      profile = Profiler.run(interval: 100, **options) { Array.new(threads) { Thread.new { deep(40) { burn(4_000 / threads) } } }.each(&:join) }
      [share_of(profile), profile.stats[:samples], profile.meta[:notes].grep(/max_overhead/).size]
    end
  RUBY

  [[1, :cpu], [50, :cpu], [1, :wall], [50, :wall]].each do |threads, mode|
    it "is kept by a session of #{mode} time at 10 kHz, with #{threads} busy threads, and noted", :timed do
      share, samples, notes = run_json("print_json(measured(#{threads}, mode: :#{mode}, max_overhead: 0.02))")
      expect(share).to be < 0.02 * 1.3 # four seconds are not enough to pay back the first tenths; without a share it is 0.2
      expect(samples).to be > 100
      expect(notes).to eq 1
    end
  end

  it "does not slow down a session that costs less, or has no limit" do
    cheap, other, both, mine = run_json(<<~'RUBY')
      cheap = Profiler.run(interval: 20_000, max_overhead: 0.05) { burn(300) }
      other = Profiler.run(interval: 1_000) { burn_in_pieces(600) }
      session = Profiler.start(interval: 1_000, max_overhead: 0.001)
      mine = Profiler.run(interval: 1_000) { burn_in_pieces(600) }
      both = session.stop
      print_json([cheap, other, both, mine].map { |it| [it.meta[:notes].grep(/max_overhead/).size, it.stats[:samples]] })
    RUBY
    expect([cheap, other, mine].map(&:first)).to eq([0, 0, 0])
    expect(both.first).to eq 1
    expect([other, mine].map(&:last)).to all be > 60
  end

  it "is of sessions that run now" do
    samples = run_json(<<~'RUBY')
      session = Profiler.start(interval: 1_000, max_overhead: 0.001)
      few = Profiler.run(interval: 1_000_000) { burn(300) }
      session.stop
      session = Profiler.start(interval: 1_000)
      print_json([few, session].map { |it| it == session ? (burn_in_pieces(600); session.stop) : it }.map { |it| it.stats[:samples] })
    RUBY
    expect(samples.first).to be < 40
    expect(samples.last).to be > 60
  end

  it "is kept beside many threads that sleep, and by many short sessions together", :timed do
    samples, share = run_json(<<~'RUBY')
      threads = Array.new(1_500) { Thread.new { sleep } }
      session = Profiler.start(mode: :cpu, frequency: 100, max_overhead: 0.01)
      burn(1_500)
      samples = session.stop.stats[:samples]
      threads.each(&:kill).each(&:join)
      $before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
      own = Array.new(30) { Profiler.run(interval: 100, max_overhead: 0.01) { deep(1_000) { burn(150) } }.stats }
      print_json([samples, own.sum { |it| it[:handler_ns] + 20_000.0 * it[:samples] } / CPU.call])
    RUBY
    expect(samples).to be > 40 # of 150
    expect(share).to be < 0.01 # only of ticks: starting and stopping has a fixed price
  end

  it "can be no share of objects, nor anything but a share" do
    expect(run_json(<<~'RUBY')).to eq([
      print_json([{ max_overhead: 0.01, mode: %i[cpu allocations] }, { max_overhead: 1 }, { max_overhead: "0.1" }, { max_overhead: 0.01, mode: :heap }].map do |options|
        error { Profiler.run(**options) { } }
      end)
    RUBY
      "ArgumentError: max_overhead: 0.01 cannot be kept where objects are sampled all the time (allowed: mode: :cpu, :wall; " \
      ":allocations in Profiler.continuous)",
      "ArgumentError: max_overhead: 1 is not a share from 0.0001 to 0.5",
      'ArgumentError: max_overhead: "0.1" is not a share from 0.0001 to 0.5',
      "ArgumentError: max_overhead: 0.01 cannot be kept where live objects are tracked (allowed: mode: :cpu, :wall)"
    ])
  end
end
