# frozen_string_literal: true

require_relative "../support/other_user"

# The engine that is chosen if the system refuses the best one.
RSpec.describe "The engine" do
  include OtherUser
  include_context "with a program"

  let(:prelude) { "def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)" }

  # Ruby gets no timer either, and may warn of that.
  def run_without_timers(code) = run_json(code, child: :other_user_child, limits: ["--sigpending=0"], err: match(/\A(.*timer_create failed.*\n)?\z/))

  # The environment of a process that the system refuses these.
  def refusing(calls) = Preloaded.env("refused_calls").merge("REFUSED_CALLS" => calls)

  def engine_given = (skip "the engine is given" if ENV["SPEC_ENGINE"])

  it "falls back to the timer of the process when threads get none, and notes it" do
    engine_given
    fallen = run_without_timers(<<~RUBY)
      fallen = Profiler.run(interval: 20_000) { 400_000.times { |it| it.to_s } }.meta.slice(:engine, :notes)
      print_json([fallen, Profiler.run(engine: :setitimer) { }.meta[:notes], error { Profiler.run(engine: :thread_timer) { } }, Profiler.running?])
    RUBY
    expect(fallen).to eq([{ engine: "setitimer", notes: ["the system refused a timer for each thread, so setitimer was used"] }, [],
                          "Profiler::Unsupported: the system refused a timer: Resource temporarily unavailable (os error 11); " \
                          "the quota of pending signals is used up: see ulimit -i", false])
  end

  %w[perf ticker].each do |engine|
    it "#{engine} accepts signals without siginfo, as when the quota of pending signals is used up" do
      engine_given
      skip "perf is not for everybody here" if engine == "perf" && !Perf.for_everybody?
      samples, foreign = run_without_timers(<<~RUBY)
        # Short sessions too: some of their ticks come after the end.
        stats = [400_000, *[3_000] * 100].map { |times| Profiler.run(engine: :#{engine}, interval: 200) { times.times(&:to_s) }.stats }
        print_json([stats.first[:samples], stats.sum { |it| it[:foreign] }])
      RUBY
      expect(samples).to be > 10
      expect(foreign).to eq 0
    end
  end

  it "samples waits, whichever it is, even for a session that joins another", :timed do
    engine_given
    engines = Perf.among("perf", "thread_timer", "ticker", "setitimer")
    naps = run_json(<<~RUBY)
      def nap = sleep(0.2)
      def naps(profile) = samples_in(profile, "Object#nap").select { |it| it.state == :waiting }.sum(&:wall)
      naps = #{engines.map(&:to_sym)}.map do |engine|
        joined = nil
        alone = Profiler.run(mode: :wall, engine: engine) { nap }
        Profiler.run(engine: engine) { joined = Profiler.run(mode: :wall) { nap } }
        [naps(alone), naps(joined)]
      end
      print_json(naps)
    RUBY
    expect(naps).to match([[be_between(190_000_000, 600_000_000)] * 2] * engines.size)
  end

  it "is thread_timer for wall clock time at long intervals, if waits are reported", :timed do
    engine_given
    skip "waits are not reported" if RUBY_VERSION < "3.3"
    engines, interrupted, states = run_json(<<~'RUBY')
      require "fiddle"
      usleep = Fiddle::Function.new(Fiddle.dlopen(nil)["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT)
      engines = [1_000, 20_000].map { |interval| Profiler.run(mode: :wall, interval: interval) { }.meta[:engine] }
      interrupted = nil
      profile = Profiler.run(mode: %i[cpu wall], interval: 10_000) do
        interrupted = 400.times.count { 20_000.times(&:to_s); usleep.call(100) != 0 }
      end
      states = %i[running waiting].map { |state| profile.samples.select { |it| it.state == state }.sum(&:count) }
      print_json([engines, interrupted, states])
    RUBY
    expect(states).to all be > 3
    expect(interrupted).to eq 0
    expect(engines).to eq([Perf.among("perf", "thread_timer").first, "thread_timer"])
  end

  it "cannot be safepoint in mode :wall before Ruby 3.3" do
    engine_given
    skip "there are hooks" if RUBY_VERSION >= "3.3"
    requested, joined, running = run_json(<<~RUBY)
      joined = nil
      requested = error { Profiler.run(mode: :wall, engine: :safepoint) { } }
      Profiler.run(engine: :safepoint) { joined = error { Profiler.run(mode: :wall) { } } }
      print_json([requested, joined, Profiler.running?])
    RUBY
    expect(requested).to eq("Profiler::Unsupported: mode: :wall cannot be measured here: before Ruby 3.3 a wait can be sampled only by interrupting it, " \
                            "not where Ruby checks its interrupts: engine :safepoint was requested (allowed: :cpu)")
    expect([joined, running]).to eq(["Profiler::Unsupported: other sessions are running with engine :safepoint, and a process can use only one engine at a time", false])
  end

  it "does not count the CPU time of other processes as its handler's", :timed do
    # Where a handler reads the thread's CPU clock, the kernel may notice that it is another thread's turn.
    stats = run_json(<<~RUBY)
      hogs = Array.new(6) { fork { loop {} } }
      begin
        profile = Profiler.run(engine: :#{Perf.among("perf", "ticker").first}) do
          till = cpu_ns + 500_000_000
          i = 0
          i += 1 while i % 1_000 != 0 || cpu_ns < till
        end
      ensure
        hogs.each { |hog| Process.kill(:KILL, hog) }
        Process.waitall
      end
      print_json(profile.stats)
    RUBY
    expect(stats[:captured]).to be > 0
    # A tick takes 5 to 10 us. While others were counted too, it took 55 to 240.
    expect(stats[:handler_ns] / stats[:captured]).to be_between(1, 30_000)
  end

  it "samples a running thread in every interval", :timed do
    Perf.among("perf", "ticker").each do |engine|
      ticks = run_json(<<~RUBY)
        stats = Profiler.run(engine: :#{engine}, interval: 1_000) do
          till = cpu_ns + 1_000_000_000
          i = 0
          i += 1 while cpu_ns < till
        end.stats
        print_json(stats.values_at(:samples, :overrun).sum)
      RUBY
      expect(ticks).to be > 930, engine # of 1,000
    end
  end

  it "ticks beside polls for blocks, whichever interval these have", :timed do
    [1_000, 5_000, 10_000].each do |interval| # polls come every 5 ms
      ran = run_json(<<~RUBY)
        profile = Profiler.run(mode: :wall, engine: :ticker, interval: #{interval}) do
          till = cpu_ns + 500_000_000
          i = 0
          i += 1 while cpu_ns < till
        end
        print_json(profile.samples.select { |it| it.state == :running }.sum(&:count))
      RUBY
      expect(ran).to be > 0.5 * 500_000 / interval, interval.to_s
    end
  end

  it "attributes the time of system calls to their callers", :timed do
    Perf.among("perf", "ticker").each do |engine|
      own, found = run_json(<<~RUBY)
        def user = (i = 0; i += 1 while i < 60_000)
        def kernel = 60.times { File.stat("/proc/self/maps"); File.read("/proc/self/stat") }
        own = Hash.new(0)
        profile = Profiler.run(engine: :#{engine}) do
          300.times do
            times = [cpu_ns, (user; cpu_ns), (kernel; cpu_ns)]
            times.each_cons(2).zip(%w[user kernel]) { |(from, to), name| own[name] += to - from }
          end
        end
        print_json([own, own.keys.to_h { |name| [name, samples_in(profile, "Object#" + name).sum(&:cpu)] }])
      RUBY
      expect(own.keys).to eq(%i[user kernel])
      # Most is not in the kernel where a counter is blind to it: then a third of this was found.
      own.each { |name, ns| expect(found[name]).to be_within(ns / 4).of(ns), "#{engine}: #{found} of #{own}" }
    end
  end

  it "is perf also for users who may not count time in the kernel" do
    engine_given
    skip "perf is not for everybody here" unless Perf.for_everybody?
    default, perf, doctor = run_json(<<~RUBY, child: :other_user_child)
      require "profiler/doctor"
      metas = [Profiler.run { }, Profiler.run(engine: :perf) { }].map { |it| it.meta.values_at(:engine, :notes) }
      print_json([*metas, Profiler.const_get(:Doctor).examine[:engines].find { |it| it[:name] == "perf" }])
    RUBY
    expect([default, perf]).to eq([["perf", []]] * 2)
    expect(doctor).to include(available: true, note: nil)
  end

  it "is thread_timer if the system refuses perf; a session with perf is refused with the reason" do
    engine_given
    default, refused, running = run_json(<<~RUBY, env: refusing("perf"))
      profile = Profiler.run(interval: 50) { 400_000.times { |it| it.to_s } }
      print_json([profile.meta.merge(profile.stats), error { Profiler.run(engine: :perf) { } }, Profiler.running?])
    RUBY
    expect(default).to include(engine: "thread_timer", notes: [], samples: be > 0)
    expect([refused, running]).to eq(["Profiler::Unsupported: the system refused a timer: Permission denied (os error 13)", false])
  end

  it "is not ticker if the system refuses signals to threads; a session with ticker, and the doctor, say why" do
    engine_given
    default, refused, doctor = run_json(<<~RUBY, env: refusing("perf signals"))
      require "profiler/doctor"
      burning = -> { 400_000.times { |it| it.to_s } }
      profile = Profiler.run(interval: 50, &burning)
      print_json([profile.meta.merge(profile.stats), error { Profiler.run(engine: :ticker) { } }, Profiler.const_get(:Doctor).examine[:engines].find { |it| it[:name] == "ticker" }])
    RUBY
    why = "the system refuses signals to threads (Operation not permitted (os error 1))"
    expect(default).to include(engine: "thread_timer", notes: [], samples: be > 1)
    expect(refused).to eq("Profiler::Unsupported: engine: :ticker cannot be used here: #{why} (allowed: :thread_timer)")
    expect(doctor).to include(available: false, reason: match(/refuses signals to threads/))
  end

  it "ticker sleeps while no thread runs, and wakes up again", :timed do
    skip "before Ruby 3.3 nothing says who runs" if RUBY_VERSION < "3.3"
    asleep, ticks = program_json("engines/idle_ticker")
    expect(asleep).to be < 20
    expect(ticks).to be > 20 # of about 150, on a quiet machine
  end
end
