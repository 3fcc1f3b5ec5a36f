# frozen_string_literal: true

# Law 1 of :wall: per thread the five parts add up to the wall clock of its life.
RSpec.describe "Wall clock time" do
  include_context "with a program"

  # From Ruby 3.3 on; before that the VM does not say who waits, and it is sampled.
  measured = RUBY_VERSION >= "3.3"
  def measured_only = (skip "waits are sampled here" if RUBY_VERSION < "3.3")

  runs = Integer(ENV.fetch("PROPERTY_RUNS", "9"))

  Array.new(runs) { Kernel.rand(1_000_000) }.each_with_index do |seed, run|
    mode = ["wall", "cpu,wall"][run % 2]
    interval = [1_000, 100, 10_000][run % 3]

    it "is each thread's life in the random program #{seed}, mode #{mode}, interval #{interval}", :timed do
      run = -> { program_json("wall/random_waits", timeout: 60, env: { "SEED" => seed.to_s, "INTERVAL" => interval.to_s, "MODE" => mode }) }
      report = begin
        run.call
      rescue Child::TimedOut
        run.call # some seeds hang in one run of 16 on Ruby 3.3, with no profiler as well
      end
      expect(report[:threads]).not_to be_empty
      report[:threads].each do |thread|
        life, wall, blocked, parts = thread.values_at(:life, :wall, :blocked, :parts)
        # The life was timed inside of the time that the profile covers, except for threads that outlive the session.
        # Threads that end can lose the GVL between their last reading of the clock and their end, to each other thread for a turn.
        turns = thread[:ended] ? 100_000_000 * (report[:threads].size - 1) : 0
        expect(wall).to be_between(life - 20_000_000, life + 20_000_000 + turns), "#{thread} of #{report}"
        expect(parts.values.sum).to eq(wall)
        expect(parts.values_at(:gvl, :gc)).to eq(thread.values_at(:gvl_wait, :gc))
        next unless thread[:ended]

        unless measured
          # Running is what the CPU clock says, and what it does not say is waiting.
          expect(parts.values_at(:gvl, :runnable)).to eq([0, 0])
          expect(parts[:running] + parts[:gc]).to be_within(5_000_000).of(thread[:cpu]), "#{thread} of #{report}"
          next
        end
        # Time in calls that block is not running time, and no other time is waiting time.
        expect(parts[:waiting]).to be <= blocked + 2_000_000, "#{thread} of #{report}"
        expect(parts.values_at(:running, :runnable, :gc).sum).to be <= thread[:at_work] - blocked + thread[:not_blocked] + 10_000_000, "#{thread} of #{report}"
      end
      expect(report[:threads].sum { |row| row[:wall] }).to be <= report[:all]
    end
  end

  let(:prelude) { require_program("wall/shares") }

  it "includes waits that began before the session or outlive it", :timed do
    names, waits, duration = run_json(<<~RUBY)
      def in_a_nap = sleep
      def till_the_end = Queue.new.pop
      early = Thread.new { in_a_nap }
      sleep 0.01 until early.stop?
      session = Profiler.start(mode: :wall)
      late = Thread.new { till_the_end }
      sleep 0.05
      names = session.snapshot.samples.flat_map { |one| one.frames.map(&:name) }.uniq.grep(/in_a_nap|till_the_end/).sort
      sleep 0.05
      profile = session.stop
      waits = samples_in(profile, /in_a_nap|till_the_end/).select { |one| one.state == :waiting }
      print_json([names, waits.map(&:wall), profile.stats[:duration_ns]])
    RUBY
    expect(names).to eq(%w[Object#in_a_nap Object#till_the_end])
    expect(waits).to match([be_between(95_000_000, duration + 1_000_000)] * 2)
  end

  it "is shared between two alternating waits, whatever the interval", :timed do
    share = run_json(<<~RUBY)
      def one = sleep(0.0006)
      def two = sleep(0.0006)
      profile = Profiler.run(mode: :wall, interval: 1000) { 1500.times { one; two } }
      print_json(share(samples_in(profile, /one|two/).select { |one| one.state == :waiting }, "Object#one"))
    RUBY
    # Some 1,800 waits are captured; a share of half has a standard deviation of 0.012. Where signals have to arrive in
    # time, one has more than the other on a busy machine.
    expect(share).to be_within(measured ? 0.06 : 0.15).of(0.5)
  end

  it "is not shifted from long waits to short ones", :timed do
    took, share = run_json(<<~RUBY)
      $took = Hash.new(0.0)
      def timed(name, since = now) = yield.tap { $took[name] += now - since }
      def long = timed(:long) { sleep(0.05) }
      def short = timed(:short) { sleep(0.001) }
      profile = Profiler.run(mode: :wall, interval: 1000, threads: :current) { 20.times { long; short } }
      print_json([$took[:long] / $took.values.sum, share(samples_in(profile, /long|short/).select { |one| one.state == :waiting }, "Object#long")])
    RUBY
    # Where the ticker comes late, the short one has more: half of what lies between two ticks that find the one and the other.
    expect(share).to be_within(measured ? 0.06 : 0.15).of(took)
  end

  it "separates running from having no CPU, while another process has it", :timed do
    measured_only
    alone, beside = program_json("wall/without_cpu")
    [alone, beside].each do |item|
      expect(item[:running]).to be_within(0.02 * item[:wall]).of(item[:cpu])
      expect(item[:runnable]).to be_within(0.02 * item[:wall]).of(item[:wall] - item[:cpu])
    end
    expect(alone[:runnable]).to be < 1.5 * alone[:delay] + 0.15 * alone[:wall] # other programs may run beside it
    # The collector begins to count, as soon as it gets a CPU. The delays are those of all threads.
    expect(beside[:delay]).to be_between(0.4 * beside[:runnable], 1.3 * beside[:runnable])
    expect(beside[:runnable]).to be > 0.3 * beside[:wall]
    expect([beside[:work], beside[:header]]).to match([be > 0.95, ", without a CPU"])
  end

  it "separates running from waiting when both alternate", :timed do
    running, waiting = run_json(<<~RUBY)
      def runs = 2_000.times { |number| number.to_s }
      def waits = sleep(0.0007)
      profile = Profiler.run(mode: :wall, interval: 1000, threads: :current) { 800.times { runs; waits } }
      print_json([share(of_state(profile, :running), "Object#runs"), share(of_state(profile, :waiting), "Object#waits")])
    RUBY
    expect(running).to be > 0.75
    expect(waiting).to be > 0.85
  end

  it "is shared between two alternating waits for the GVL", :timed do
    measured_only
    share, waited = run_json(<<~RUBY)
      busy = Thread.new { spin(100_000) }
      def one = Thread.pass
      def two = Thread.pass
      profile = Profiler.run(mode: :wall, interval: 100_000, threads: :current) { 36.times { one; two } }
      busy.kill
      print_json([share(of_state(profile, :gvl), "Object#one"), of_state(profile, :gvl).sum(&:gvl_wait)])
    RUBY
    # Some 72 waits of a time slice each; a share of half has a standard deviation of about 0.06.
    expect(share).to be_within(0.25).of(0.5)
    expect(waited).to be > 1_000_000_000
  end

  it "attributes a GC to the stack that caused it, all of it" do
    measured_only
    figures = run_json(<<~RUBY)
      def collects = GC.start
      def allocates = 200_000.times { "x" * 60 }
      GC.start
      before = [GC.total_time, now]
      profile = Profiler.run(mode: %i[cpu wall], interval: 1_000) { 20.times { collects }; allocates }
      took, elapsed = GC.total_time - before[0], now - before[1]
      rows = of_state(profile, :gc)
      print_json(leaves: rows.map { |one| one.frames.first.name }.uniq, gc: rows.sum(&:gc), took: took, elapsed: elapsed,
                 share: share(rows, "Object#collects") + share(rows, "Object#allocates"), all: profile.samples.sum(&:gc), wall: wall(rows))
    RUBY
    # Ruby's figure is CPU time of the process, ours that of the thread.
    expect(figures[:gc]).to be_between(figures[:took] * 0.8, figures[:elapsed])
    expect(figures).to include(leaves: ["(garbage collection)"], share: be > 0.95, all: figures[:wall])
  end

  it "counts only under the labels of the session", :timed do
    took, slept, waited, ran, jobs = run_json(<<~RUBY)
      session = Profiler.start(mode: :wall, labels: { job: "a" })
      since = now
      slept = nil
      Profiler.label(job: "a") { sleep 0.1; slept = now - since; spin(55) }
      took = now - since
      Profiler.label(job: "b") { sleep 0.1; spin(55) }
      rows = session.stop.samples
      parts = rows.partition { |one| one.state == :waiting }.map { |some| wall(some) }
      print_json([took, slept, *parts, rows.map { |one| one.labels["job"] }.uniq])
    RUBY
    expect(waited + ran).to be_within(20_000_000).of(took)
    # Time without a CPU counts as waiting too, if waiting is all that is not running.
    expect(waited).to measured ? be_between(100_000_000, slept + 10_000_000) : be >= 90_000_000
    expect(jobs).to eq(["a"])
  end

  it "is measured in a forked child too", :timed do
    child, after = run_json(<<~RUBY)
      session = Profiler.start(mode: :wall)
      child = in_fork do
        Thread.new { sleep 0.05 }.join
        sleep 0.05
        profile = session.stop
        again = Profiler.run(mode: :wall) { sleep 0.03 }
        [profile, again].map { |it| [wall(of_state(it, :waiting)), it.stats[:duration_ns]].map { |ns| ns / 1_000_000 } }
      end
      session.stop
      sleep 0.01
      after = Profiler.run(mode: :wall) { sleep 0.03 }
      print_json([child, [wall(after.samples), after.stats[:duration_ns]].map { |ns| ns / 1_000_000 }])
    RUBY
    waits, durations = child.transpose
    expect(waits).to match([be_between(148, 2 * durations[0] + 5), be_between(28, durations[1] + 5)]) # two threads, then one
    expect(after[0]).to be_between(30, after[1] + 5)
  end

  it "is broken down by state in the report", :timed do
    shown = run_json(<<~RUBY)
      profile = Profiler.run(mode: :wall) { sleep 0.1 }
      print_json(report: profile.report, state: profile.by(:state).first[:value], inspected: profile.inspect, wall: profile.stats[:wall_ns],
                 duration: profile.stats[:duration_ns])
    RUBY
    expect(shown[:report].gsub(/\n {10}(?=\S)/, " ")).to match(/^mode      wall, engine (perf|thread_timer|ticker)$/)
      .and match(/^wall      running .*, waiting (?:\d\d\d|9\d\.\d+) ms, waiting for the GVL .*, collecting garbage /)
      .and match(/100\.0%|9\d\.\d% +Kernel#sleep/)
    expect(shown).to include(state: "waiting", inspected: /\A#<Profiler::Profile wall, 0\.[1-9]\d\d s, \d+ samples>\z/,
                             wall: be_between(100_000_000, shown[:duration] + 5_000_000))
  end
end
