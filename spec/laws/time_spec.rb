# frozen_string_literal: true

# Law 1: per thread, the sum of the profile is the thread's own CPU clock.
RSpec.describe "CPU time" do
  include_context "with a program"

  # The time that the kernel's tick can hide, whatever CONFIG_HZ is.
  tick_ns = 10_000_000

  runs = Integer(ENV.fetch("PROPERTY_RUNS", "12"))

  Array.new(runs) { Kernel.rand(1_000_000) }.each_with_index do |seed, run|
    interval = [1_000, 50, 10_000][run % 3]

    it "is each thread's own clock in the random program #{seed}, interval #{interval}", :timed do
      report = program_json("cpu/random_threads", timeout: 120, env: { "SEED" => seed.to_s, "INTERVAL" => interval.to_s })
      clocks, sums = report.values_at(:clocks, :sums)

      expect(clocks).not_to be_empty
      clocks.each do |thread, clock|
        # A thread's clock was read inside of it, so the profile has a little more, never less.
        expect(sums.fetch(thread, 0)).to be_within(tick_ns + (interval * 1_000)).of(clock),
                                         "thread #{thread} of #{report}"
      end
      expect(sums.keys - clocks.keys).to be_empty, "time of nobody: #{report}"
      expect(report.dig(:stats, :threads_refused)).to eq(0)
      # All of it, much closer than thread by thread: nothing is lost on the way.
      expect(sums.values.sum).to be_within(2_000_000 * report[:threads].size).of(clocks.values.sum)
    end
  end

  it "does not include the first start of a session", :timed do
    own, first_ns = run_json(<<~RUBY)
      began = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
      session = Profiler.start(mode: %i[cpu native], interval: 100)
      first_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - began
      burn(10)
      print_json([samples_in(session.stop, "Profiler::Native.start").sum(&:cpu), first_ns])
    RUBY
    expect(first_ns).to be > 1_000_000, "the first start takes too little to be seen"
    expect(own).to be < first_ns / 4
  end

  it "is reported with the requested and the effective interval", :timed do
    stats, times = run_json(<<~RUBY)
      profile = Profiler.run(timeline: true, threads: :current) { burn(400) }
      print_json([profile.stats, profile.timeline.select { |event| event.count.positive? }.map(&:time)])
    RUBY
    expect(stats).to include(interval_ns: 1_000_000, cpu_ns: be_within(20_000_000).of(400_000_000))
    effective = stats[:effective_interval_ns]
    # A thread's first tick comes within an interval, and a kernel ticks 100 times a second at least.
    expect(effective).to be_between(900_000, 2 * tick_ns)
    expect(effective).to be_within(2).percent_of(stats[:cpu_ns] / stats[:samples])
    # On a busy machine more time passes between two samples than the thread runs, and only the shortest gaps have no wait in them.
    gaps = times.each_cons(2).map { |one, other| other - one }.sort
    expect(gaps[gaps.size / 10]..(gaps.sum / gaps.size * 1.1)).to cover(effective)
  end

  it "is (unsampled) if it was never sampled" do
    expect(run_json(<<~RUBY)).to eq([[["(unsampled)"], 0]])
      # Where the machine stands still meanwhile, a tick can come.
      profile = Profiler.run(interval: 1_000_000) { 50_000.times { |number| number.to_s } } until profile&.stats&.fetch(:samples)&.zero?
      print_json(profile.samples.map { |sample| [sample.frames.map(&:name), sample.count] })
    RUBY
  end

  it "is attributed to the stack that uses it without the GVL" do
    own, total = run_json(<<~RUBY)
      require "fiddle"
      MEMSET = Fiddle::Function.new(Fiddle.dlopen(nil)["memset"],
                                    [Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
      BLOCK = Fiddle.malloc(16 << 20)
      def without_gvl = 150.times { MEMSET.call(BLOCK, 1, 16 << 20) }
      samples = Profiler.run { without_gvl }.samples
      print_json([samples.select { |sample| sample.frames.first.name == "Fiddle::Function#call" }, samples].map { |some| some.sum(&:cpu) })
    RUBY
    expect(own).to be > total * 0.8
    expect(total).to be_positive
  end
end
