# frozen_string_literal: true

require_relative "../support/other_user"

# What ticks where the system refuses what would be best.
RSpec.describe "The engine" do
  include OtherUser

  it "falls back to the timer of the process where threads get none, and notes it" do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    code = <<~RUBY
      require "profiler"
      work = -> { 400_000.times { |it| it.to_s } }
      coarse = Profiler.run(interval: 20_000) { work.call }
      puts coarse.meta[:engine], coarse.meta[:notes]
      p Profiler.run(engine: :setitimer) { }.meta[:notes]
      begin; Profiler.run(engine: :thread_timer) { }; rescue Profiler::Unsupported => e; puts e.message; end
      p Profiler.running?
    RUBY
    result = other_user_child("-e", code, limits: ["--sigpending=0"])
    expect(result.out).to eq("setitimer\nthe system gave no timer for each thread, so setitimer was used\n[]\n" \
                             "the system gives no timer: Resource temporarily unavailable (os error 11); " \
                             "the quota of pending signals is used up: see ulimit -i\nfalse\n"), result.err
  end

  %w[perf ticker].each do |engine|
    it "#{engine} accepts signals without siginfo, as where the quota of pending signals is used up" do
      skip "the engine is given" if ENV["SPEC_ENGINE"]
      skip "perf is not for everybody here" if engine == "perf" && !Perf.for_everybody?
      result = other_user_child("-e", <<~RUBY, limits: ["--sigpending=0"])
        require "profiler"
        profile = Profiler.run(engine: :#{engine}) { 400_000.times { |it| it.to_s } }
        puts profile.stats[:samples] > 10, profile.stats[:foreign]
      RUBY
      expect(result.out).to eq("true\n0\n"), result.err
    end
  end

  it "sees waits, whichever it is, also for a session that joins another", :timed do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    engines = Perf.among("perf", "thread_timer", "ticker", "setitimer")
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      def nap = sleep(0.2)
      def naps(profile) = profile.samples.select { |it| it.state == :waiting && it.frames.any? { |frame| frame.name == "Object#nap" } }.sum(&:wall)
      #{engines.map(&:to_sym)}.each do |engine|
        puts naps(Profiler.run(mode: :wall, engine: engine) { nap }) / 10_000_000
        Profiler.run(engine: engine) { puts naps(Profiler.run(mode: :wall) { nap }) / 10_000_000 }
      end
    RUBY
    expect(result.out.lines.map(&:to_i)).to match([be_between(19, 60)] * 2 * engines.size), result.err
  end

  it "cannot be safepoint in mode :wall before Ruby 3.3" do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "there are hooks" if RUBY_VERSION >= "3.3"
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      begin; Profiler.run(mode: :wall, engine: :safepoint) { }; rescue Profiler::Unsupported => e; puts e.message; end
      Profiler.run(engine: :safepoint) do
        begin; Profiler.run(mode: :wall) { }; rescue Profiler::Unsupported => e; puts e.message; end
      end
      p Profiler.running?
    RUBY
    expect(result.out.lines(chomp: true)).to eq(
      ["mode: :wall cannot be measured here: before Ruby 3.3 a wait is seen by interrupting it, and not where Ruby checks its " \
       "interrupts: engine :safepoint was requested (allowed: :cpu)",
       "sessions are running with engine :safepoint, and there is one at a time", "false"]
    ), result.err
  end

  it "does not count the CPU time of other processes as its handler's", :timed do
    # Where a handler reads the thread's CPU clock, the kernel may notice that it is somebody else's turn.
    engine = Perf.among("perf", "ticker").first
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      hogs = Array.new(6) { fork { loop {} } }
      begin
        profile = Profiler.run(engine: :#{engine}) do
          till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.5
          i = 0
          i += 1 while i % 1_000 != 0 || Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
        end
      ensure
        hogs.each { |hog| Process.kill(:KILL, hog) }
        Process.waitall
      end
      p profile.stats.values_at(:captured, :handler_ns)
    RUBY
    captured, handler_ns = result.out.scan(/\d+/).map(&:to_i)
    expect(captured).to be > 0, result.err
    # It takes 5 to 10 us. While others were counted too, it was 55 to 240.
    expect(handler_ns / captured).to be < 30_000
  end

  it "samples a running thread in every interval", :timed do
    Perf.among("perf", "ticker").each do |engine|
      result = ruby_child("-e", <<~RUBY)
        require "profiler"
        stats = Profiler.run(engine: :#{engine}, interval: 1_000) do
          till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 1
          i = 0
          i += 1 while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
        end.stats
        p stats.values_at(:samples, :overrun).sum
      RUBY
      expect(result.status).to be_success, result.err
      expect(Integer(result.out)).to be > 930, engine # of 1,000
    end
  end

  it "attributes the time of system calls to their callers", :timed do
    Perf.among("perf", "ticker").each do |engine|
      result = ruby_child("-e", <<~RUBY)
        require "json"
        require "profiler"
        def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
        def user = (i = 0; i += 1 while i < 60_000)
        def kernel = 60.times { File.stat("/proc/self/maps"); File.read("/proc/self/stat") }
        own = Hash.new(0)
        profile = Profiler.run(engine: :#{engine}) do
          300.times do
            times = [now, (user; now), (kernel; now)]
            times.each_cons(2).zip(%w[user kernel]) { |(from, to), name| own[name] += to - from }
          end
        end
        found = own.keys.to_h { |name| [name, profile.samples.select { |it| it.frames.any? { |frame| frame.name == "Object#" + name } }.sum(&:cpu)] }
        puts JSON.generate(own: own, found: found)
      RUBY
      expect(result.status).to be_success, result.err
      own, found = JSON.parse(result.out).values_at("own", "found")
      # Most is not in the kernel where a counter is blind to it: then a third of this was found.
      own.each { |name, ns| expect(found[name]).to be_within(ns / 4).of(ns), "#{engine}: #{found} of #{own}" }
    end
  end

  it "is ticker where perf may not count time in the kernel; a session with perf and the doctor say so" do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "perf is for everybody here, or for nobody" unless Perf.available? && Perf.level == 2
    result = other_user_child("-e", <<~RUBY)
      require "profiler"
      puts Profiler.run { }.meta.values_at(:engine, :notes).inspect, Profiler.run(engine: :perf) { }.meta.values_at(:engine, :notes).inspect
      require "profiler/doctor"
      puts Profiler::Doctor.examine[:engines].find { |it| it[:name] == "perf" }.values_at(:available, :note).inspect
    RUBY
    expect(result.out).to eq(<<~TEXT), result.err
      ["ticker", []]
      ["perf", ["perf may not count time in the kernel here: what a system call took is where the thread was found next"]]
      [true, "perf may not count time in the kernel here: what a system call took is where the thread was found next"]
    TEXT
  end

  it "is ticker where the system refuses perf; a session with perf says why" do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    Dir.mktmpdir do |directory|
      system("cc", "-shared", "-fPIC", "-o", "#{directory}/no_perf.so", "#{Child::ROOT}/spec/support/no_perf.c", "-ldl", exception: true)
      result = ruby_child("-e", <<~RUBY, env: { "LD_PRELOAD" => "#{directory}/no_perf.so" })
        require "profiler"
        profile = Profiler.run(interval: 50) { 400_000.times { |it| it.to_s } }
        puts profile.meta[:engine], profile.meta[:notes], profile.stats[:samples] > 100
        begin; Profiler.run(engine: :perf) { }; rescue Profiler::Unsupported => e; puts e.message; end
        p Profiler.running?
      RUBY
      expect(result.out).to eq("ticker\ntrue\nthe system gives no timer: Permission denied (os error 13)\nfalse\n"), result.err
    end
  end

  it "ticker sleeps while no thread runs, and wakes up again", :timed do
    skip "before Ruby 3.3 nothing says who runs" if RUBY_VERSION < "3.3"
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      turns = lambda do
        ticker = Dir["/proc/self/task/*"].find { |task| File.read(task + "/comm") == "profiler tick\n" }
        Integer(File.read(ticker + "/status")[/^voluntary_ctxt_switches:[^0-9]+([0-9]+)/, 1])
      end
      profile = Profiler.run(mode: :wall) do
        sleep 0.3
        before = turns.call
        sleep 1
        p turns.call - before
        5.times do
          sleep 0.15
          300_000.times { |it| it.to_s }
        end
      end
      p profile.samples.select { |row| row.state == :running }.sum(&:count)
    RUBY
    expect(result.status).to be_success, result.err
    asleep, ticks = result.out.lines.map { |it| Integer(it) }
    expect(asleep).to be < 300 # of 1,000; awake for the first tenth, and to look now and then
    expect(ticks).to be > 20 # of some 150, on a quiet machine
  end
end
