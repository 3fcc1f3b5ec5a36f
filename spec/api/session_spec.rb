# frozen_string_literal: true

RSpec.describe "Profiler::Session" do
  include_context "with a program"

  it "starts, runs and stops" do
    expect(run_json(<<~RUBY)).to eq(before: false, during: [true, true], after: [false, false], sampled: true)
      before = Profiler.running?
      session = Profiler.start
      running = -> { [Profiler.running?, session.running?] }
      during = running.call
      burn
      profile = Profiler.stop
      print_json(before: before, during: during, after: running.call, sampled: profile.samples.any?)
    RUBY
  end

  it "can be started again and again, each time with its own samples" do
    expect(run_json(<<~RUBY)).to eq([[true, false], [false, true]])
      def first = burn
      def second = burn
      profiles = %i[first second].map { |it| Profiler.run { send(it) } }
      print_json(profiles.map { |profile| %w[Object#first Object#second].map { |it| samples_in(profile, it).any? } })
    RUBY
  end

  it "keeps the markers of the threads that it profiles" do
    expect(program_json("session/markers")).to match(
      value: 7, refused: "ArgumentError: 1 is not the name of a marker (allowed: a String or a Symbol)",
      all: [["import", "main", true], ["elsewhere", "other", true], ["moment", "main", false], ["raising", "main", true], ["half", "main", true]],
      mine: %w[import moment raising half], late: [["half", true]],
      duration: be_between(20_000_000, 20_000_000_000), age: be_between(0.02, 60), report: "half 1 time", same_from_file: true
    )
  end

  it "runs beside others, each with its own samples" do
    expect(run_json(<<~RUBY)).to eq(outer: [true, true, true], inner: [false, true, false], around: [true, true, true])
      names = ->(profile) { %w[before during after].map { |it| samples_in(profile, "Object#\#{it}").any? } }
      def before = burn
      def during = burn
      def after = burn
      outer = Profiler.start
      around = Profiler.start(interval: 10_000, threads: :current)
      before
      inner = Profiler.run { during }
      after
      print_json(outer: names.(outer.stop), inner: names.(inner), around: names.(around.stop))
    RUBY
  end

  it "nests: Profiler.stop ends the one that this thread started last" do
    expect(run_json(<<~RUBY)).to eq(running: [[true, false, true], [false, false, true], [false] * 3], error: "Profiler::NotRunning: no session is running in this process")
      sessions = [Profiler.start, Profiler.start, Thread.new { Profiler.start }.value]
      stops = [-> { Profiler.stop }, -> { Profiler.stop }, -> { Thread.new { Profiler.stop }.join }] # the last thread has none of its own
      running = stops.map { |stop| stop.call; sessions.map(&:running?) }
      print_json(running: running, error: error { Profiler.stop })
    RUBY
  end

  it "shares one engine with the others" do
    expect(run_json(<<~RUBY)).to eq(["Profiler::Unsupported: other sessions are running with engine :setitimer, and a process can use only one engine at a time", "setitimer"])
      session = Profiler.start(engine: :setitimer)
      print_json([error { Profiler.start(engine: :thread_timer) }, Profiler.run { }.meta[:engine]])
    RUBY
  end

  it "profiles only the requested threads" do
    result = run_json(<<~RUBY)
      there = Thread.new { Thread.current.name = "there"; Thread.stop; burn; cpu_now }
      Thread.pass until there.stop?
      Thread.current.name = "here"
      used = cpu_now
      sessions = [:current, there, [Thread.current, there]].map { |it| Profiler.start(threads: it) }
      there.run
      burn
      there.join
      after = Thread.new { Thread.current.name = "after"; burn }.join
      profiles = sessions.map(&:stop)
      print_json(used: [cpu_now - used, there.value], cpu: profiles.first(2).map { |it| it.samples.sum(&:cpu) },
                 names: profiles.map { |it| it.samples.map(&:thread_name).uniq.sort })
    RUBY
    expect(result[:names]).to eq([["here"], ["there"], %w[here there]])
    result[:cpu].zip(result[:used]) { |cpu, used| expect(cpu).to be_between(55_000_000, used + 10_000_000) }
  end

  it "profiles a thread that was just created, and is refused when none of the given threads is alive" do
    expect(run_json(<<~RUBY)).to match(cpu: [be > 1_000_000] * 50, error: "ArgumentError: threads: none of these is alive, or they are threads of the profiler", running: false)
      gate = Queue.new
      works = Array.new(50) { thread = Thread.new { gate.pop; burn(2) }; [thread, Profiler.start(threads: thread)] }
      50.times { gate << :go }
      cpu = works.map { |thread, session| thread.join; session.stop.samples.sum(&:cpu) }
      print_json(cpu: cpu, error: error { Profiler.start(threads: [Thread.new { }.tap(&:join)]) }, running: Profiler.running?)
    RUBY
  end

  it "pauses, resumes and takes snapshots" do
    inspected = %w[paused running over].map { |state| "#<Profiler::Session #{state}>" }
    expect(program_json("session/pauses")).to match(paused: [true, false], running: [true, true], inspected: inspected, so_far: [true, false, true], whole: [true, false, true])
  end

  it "returns the same profile when stopped again" do
    expect(run_json("session = Profiler.start; print_json(session.stop.equal?(session.stop))")).to be true
  end

  it "cannot be stopped when it was discarded, or when none is running" do
    expect(run_json(<<~RUBY)).to match([/\AProfiler::NotRunning: /] * 3)
      session = Profiler.start
      session.discard
      Profiler.start.stop
      print_json([error { session.stop }, error { session.rotate }, error { Profiler.stop }])
    RUBY
  end

  it "can be discarded" do
    expect(run_json("session = Profiler.start; burn; print_json([session.discard, session.discard, Profiler.running?]); Profiler.run { burn }"))
      .to eq([nil, nil, false])
  end

  it "starts and stops on any thread and profiles all of them" do
    expect(run_json(<<~RUBY)).to eq(%w[main starter worker])
      worker = Thread.new { Thread.current.name = "worker"; burn(10) until @stop }
      profile = Thread.new { Thread.current.name = "starter"; Profiler.run { burn; sleep 0.05 until @burnt } }
      sleep 0.001 until Profiler.running?
      burn
      @burnt = true
      profile = profile.value
      @stop = true
      print_json(profile.samples.map(&:thread_name).uniq.sort)
    RUBY
  end

  it "starts on many threads at once, even if the VM switches threads meanwhile" do
    # A start asks once for a constant that this Ruby may not have, for others, and for methods of Thread.
    result = ruby_child("-e", <<~RUBY, timeout: 60)
      def RubyVM.const_missing(name) = sleep(0.2).then { super(name) }
      def Object.const_get(*names) = sleep(0.05).then { super(*names) }
      def Thread.instance_method(name) = sleep(0.05).then { super(name) }
      require "profiler"
      threads = Array.new(4) { Thread.new { Profiler.run(threads: :current) { :done } } }
      p threads.map { |thread| thread.value.class }.uniq
    RUBY
    expect(result.out).to eq("[Profiler::Profile]\n"), result.err
  end

  it "ignores late signals" do
    expect(run(<<~RUBY)).to eq("done\n")
      100.times do
        Profiler::Testing.hammer(50) if Profiler.start(interval: 50)
        Profiler.stop
        burn(1)
      end
      puts "done"
    RUBY
  end

  it "may still run when the process exits" do
    result = ruby_child("-e", "require 'profiler'; Profiler.start(interval: 50); 20_000.times { |it| it.to_s }; exit(7)")
    expect([result.code, result.err]).to eq([7, ""])
    result = ruby_child("-e", "require 'profiler'; Profiler.start; Thread.new { loop { 1.to_s } }; sleep 0.1; exit!(8)")
    expect([result.code, result.err]).to eq([8, ""])
    result = ruby_child("-e", "require 'profiler'; Profiler.start; at_exit { 50_000.times { |it| it.to_s } }; abort('bye')")
    expect([result.code, result.err]).to eq([1, "bye\n"])
  end

  it "is refused if SIGPROF already has a handler" do
    before, refused, running, after, reason = run_json(<<~RUBY).values
      before = Profiler.supported?
      trap(:PROF) { }
      print_json(before: before, refused: error { Profiler.run { burn } }, running: Profiler.running?, after: Profiler.supported?, reason: Profiler.unsupported_reason)
    RUBY
    expect([before, running, after]).to eq([true, false, false])
    expect(reason).to start_with("SIGPROF already has a handler")
    expect(refused).to eq("Profiler::Unsupported: #{reason}")
  end

  it "belongs to its block: Profiler.stop elsewhere does not end it" do
    expect(run_json(<<~RUBY)).to eq(["Profiler::NotRunning: no session is running in this process", "Profiler::Profile"])
      refused = nil
      profile = Profiler.run { Thread.new { refused = error { Profiler.stop } }.join }
      print_json([refused, profile.class.name])
    RUBY
  end

  it "survives threads that exit before it can observe them" do
    expect(run(<<~RUBY)).to eq("done\n")
      30.times do
        thread = Thread.new { sleep }
        Thread.pass until thread.stop?
        outer = Profiler.start
        thread.kill.join
        sleep 0.001
        Profiler.run(interval: 50) { }
        outer.stop
      end
      puts "done"
    RUBY
  end

  it "starts nothing on require, and leaves only an inert handler behind" do
    result = ruby_child("-e", <<~RUBY)
      require "json"
      def traces = { tasks: Dir.children("/proc/self/task").size, handler: trap(:PROF, nil).inspect, timers: File.read("/proc/self/timers").lines.size }
      before = traces
      trap(:PROF, "DEFAULT")
      require "profiler"
      loaded = traces
      trap(:PROF, "DEFAULT")
      engine = Profiler.run { }.meta[:engine]
      # The collector thread lives on, asleep, as does the ticker if it was needed; no timer on a CPU clock does, and a tick that
      # comes late kills nobody.
      tasks = Dir.children("/proc/self/task").size - before[:tasks] - (engine == "ticker" ? 1 : 0)
      timers = File.read("/proc/self/timers").split(/^(?=ID:)/).count { |timer| timer.match?(/^signal: \#{Signal.list["PROF"]}\\//) && !timer.match?(/^ClockID: 1$/) }
      Process.kill(:PROF, Process.pid)
      sleep 0.05
      puts JSON.generate(before: before, loaded: loaded, tasks: tasks, timers: timers)
    RUBY
    expect(result.err).to eq("")
    traces = JSON.parse(result.out, symbolize_names: true)
    expect(traces).to include(loaded: traces[:before], tasks: 1, timers: 0)
  end
end
