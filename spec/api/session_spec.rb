# frozen_string_literal: true

RSpec.describe "Profiler::Session" do
  include_context "with a program"

  it "starts, runs and stops" do
    expect(run(<<~RUBY)).to eq("false\ntrue\ntrue\nfalse\nfalse\ntrue\n")
      p Profiler.running?
      session = Profiler.start
      p Profiler.running?, session.running?
      burn
      profile = Profiler.stop
      p Profiler.running?, session.running?, profile.samples.any?
    RUBY
  end

  it "can be started again and again, each time with its own samples" do
    expect(run(<<~RUBY)).to eq("true\ntrue\n")
      def first = burn
      def second = burn
      names = %i[first second].map { |it| Profiler.run { send(it) }.samples.flat_map { |row| row.frames.map(&:name) } }
      p names[0].include?("Object#first"), !names[1].include?("Object#first")
    RUBY
  end

  it "keeps the markers of the threads that it profiles" do
    expect(run(<<~RUBY)).to eq(<<~TEXT)
      all = Profiler.start
      mine = Profiler.start(threads: :current)
      p Profiler.marker("import") { sleep 0.02; 7 }
      Thread.new { Thread.current.name = "other"; Profiler.marker(:elsewhere) { } }.join
      Profiler.marker("moment")
      begin
        Profiler.marker("raising") { raise "x" }
      rescue RuntimeError
        late = Profiler.marker("half") { sleep 0.02; Profiler.start.tap { sleep 0.01 } }
      end
      puts error { Profiler.marker(1) }
      profile = all.stop
      p profile.markers.map { |it| [it.name, it.thread_name, it.duration.positive?] }
      p mine.stop.markers.map(&:name)
      p late.stop.markers.map { |it| [it.name, it.duration < 20_000_000] }
      import = profile.markers.first
      p import.duration.between?(20_000_000, 2_000_000_000), (Time.now - import.started_at).between?(0.02, 60)
      puts profile.report[/half 1 time/]
      require "tmpdir"
      Dir.mktmpdir { |box| p Profiler::Profile.load(profile.save("\#{box}/a.pb.gz")).markers == profile.markers }
    RUBY
      7
      ArgumentError: 1 is not the name of a marker (allowed: a String or a Symbol)
      [["import", "main", true], ["elsewhere", "other", true], ["moment", "main", false], ["raising", "main", true], ["half", "main", true]]
      ["import", "moment", "raising", "half"]
      [["half", true]]
      true
      true
      half 1 time
      true
    TEXT
  end

  it "runs beside others, each with its own samples" do
    expect(run(<<~RUBY)).to eq("[true, true, true]\n[false, true, false]\n[true, true, true]\n")
      names = ->(profile) { %w[before during after].map { |it| profile.samples.any? { |row| row.frames.any? { |frame| frame.name == "Object#\#{it}" } } } }
      def before = burn
      def during = burn
      def after = burn
      outer = Profiler.start
      around = Profiler.start(interval: 10_000, threads: :current)
      before
      inner = Profiler.run { during }
      after
      [outer.stop, inner, around.stop].each { |profile| p names.(profile) }
    RUBY
  end

  it "nests: Profiler.stop ends the one that this thread started last" do
    expect(run(<<~RUBY)).to eq("true\ntrue\nfalse\nProfiler::NotRunning: no session is running in this process\n")
      first = Profiler.start
      second = Profiler.start
      third = Thread.new { Profiler.start }.value
      Profiler.stop
      p !second.running?
      Profiler.stop
      p !first.running?
      Thread.new { Profiler.stop }.join # it has none of its own
      p third.running?
      puts error { Profiler.stop }
    RUBY
  end

  it "shares one engine with the others" do
    expect(run(<<~RUBY)).to eq("Profiler::Unsupported: sessions are running with engine :setitimer, and there is one at a time\nsetitimer\n")
      session = Profiler.start(engine: :setitimer)
      puts error { Profiler.start(engine: :thread_timer) }
      puts Profiler.run { }.meta[:engine]
    RUBY
  end

  it "profiles only the requested threads" do
    expect(run(<<~RUBY)).to eq("[true, true]\n[\"here\"]\n[\"there\"]\n[\"here\", \"there\"]\n")
      there = Thread.new { Thread.current.name = "there"; Thread.stop; burn }
      Thread.pass until there.stop?
      Thread.current.name = "here"
      sessions = [:current, there, [Thread.current, there]].map { |it| Profiler.start(threads: it) }
      there.run
      burn
      there.join
      after = Thread.new { Thread.current.name = "after"; burn }.join
      profiles = sessions.map(&:stop)
      p profiles.first(2).map { |it| it.samples.sum(&:cpu).between?(55_000_000, 115_000_000) }
      profiles.each { |it| p it.samples.map(&:thread_name).uniq.sort }
    RUBY
  end

  it "profiles a thread that was just created, and is refused when none of the given threads is alive" do
    expect(run(<<~RUBY)).to eq("[true]\nArgumentError: threads: none of these is alive\nfalse\n")
      gate = Queue.new
      works = Array.new(50) { thread = Thread.new { gate.pop; burn(2) }; [thread, Profiler.start(threads: thread)] }
      50.times { gate << :go }
      p works.map { |thread, session| thread.join; session.stop.samples.sum(&:cpu) > 1_000_000 }.uniq
      puts error { Profiler.start(threads: [Thread.new { }.tap(&:join)]) }
      p Profiler.running?
    RUBY
  end

  it "starts from prepared options, each time with the current threads" do
    expect(run(<<~RUBY)).to eq("[true, true, true]\n[[\"there\"]]\nArgumentError: interval: 1 is not an Integer from 50 to 1000000 microseconds\nTypeError\n")
      begun = ->(options) { Profiler::Session.begin(options, bound: true) }
      once = Profiler::Session.prepared({ interval: 2_000, threads: :current })
      p Array.new(3) {
        session = begun.(once)
        GC.compact
        burn
        profile = session.stop
        profile.stats[:interval_ns] == 2_000_000 && profile.samples.sum(&:cpu) > 50_000_000
      }
      go, done = Queue.new, Queue.new
      there = Thread.new { Thread.current.name = "there"; 3.times { go.pop; burn; done << true } }
      once = Profiler::Session.prepared({ threads: [there] })
      p Array.new(3) {
        GC.compact # it moves threads as well
        session = begun.(once)
        go << true
        done.pop
        session.stop.samples.map(&:thread_name).uniq
      }.uniq
      puts error { begun.(Profiler::Session.prepared({ interval: 1 })) }
      puts error { Profiler::Session::Prepared.new }[/\\w+/]
    RUBY
  end

  it "pauses, resumes and gives snapshots" do
    expect(run(<<~RUBY)).to eq("true\nfalse true\n[true, true, false]\n[true, false, true]\n#<Profiler::Session over>\n")
      def first = burn(150)
      def second = burn(150)
      def third = burn(150)
      has = ->(profile) { %w[first second third].map { |it| profile.samples.any? { |row| row.frames.any? { |frame| frame.name == "Object#\#{it}" } } } }
      session = Profiler.start
      first
      session.pause.pause
      p session.inspect == "#<Profiler::Session paused>" && session.paused?
      second
      session.resume.resume
      puts [session.paused?, session.running?].join(" ")
      third
      so_far = session.snapshot
      p has.(so_far).values_at(0, 2) + [has.(so_far)[1]]
      p has.(session.stop)
      p session
    RUBY
  end

  it "cannot be stopped twice, or when none is running" do
    expect(run(<<~RUBY).lines.map { |line| line[/\AProfiler::\w+/] }).to eq(%w[Profiler::NotRunning Profiler::NotRunning])
      session = Profiler.start
      session.stop
      puts error { session.stop }
      puts error { Profiler.stop }
    RUBY
  end

  it "can be discarded" do
    expect(run("session = Profiler.start; burn; p session.discard, session.discard, Profiler.running?; Profiler.run { burn }"))
      .to eq("nil\nnil\nfalse\n")
  end

  it "starts and stops on any thread and profiles all of them" do
    expect(run(<<~RUBY)).to eq(%(["main", "starter", "worker"]\n))
      worker = Thread.new { Thread.current.name = "worker"; burn(10) until @stop }
      profile = Thread.new { Thread.current.name = "starter"; Profiler.run { burn; sleep 0.05 until @burnt } }
      sleep 0.001 until Profiler.running?
      burn
      @burnt = true
      profile = profile.value
      @stop = true
      p profile.samples.map(&:thread_name).uniq.sort
    RUBY
  end

  it "starts on many threads at once, even if the VM switches threads meanwhile" do
    # What starts asks, once, for a constant that this Ruby may not have, for others, and for methods of Thread.
    result = ruby_child("-e", <<~RUBY, timeout: 60)
      def RubyVM.const_missing(name)
        sleep 0.2
        super
      end

      def Object.const_get(*)
        sleep 0.05
        super
      end

      def Thread.instance_method(*)
        sleep 0.05
        super
      end
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

  it "is refused where SIGPROF is handled already" do
    expect(run("p Profiler.supported?; trap(:PROF) { }; puts error { Profiler.run { burn } }; p Profiler.running?, Profiler.supported?; puts Profiler.unsupported_reason"))
      .to match(/\Atrue\nProfiler::Unsupported: (SIGPROF has a handler that is not ours.*)\nfalse\nfalse\n\1\n\z/)
  end

  it "belongs to its block: Profiler.stop elsewhere does not end it" do
    expect(run(<<~RUBY)).to eq("Profiler::NotRunning: no session is running in this process\n#<Profiler::Profile\n")
      profile = Profiler.run do
        Thread.new { puts error { Profiler.stop } }.join
      end
      puts profile.inspect[/\\A\\S+/]
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
      def traces = [Dir.children("/proc/self/task").size, trap(:PROF, nil).inspect, File.read("/proc/self/timers").lines.size]
      before = traces
      trap(:PROF, "DEFAULT")
      require "profiler"
      puts traces.zip(before).map { |now, then_| now == then_ }.all? || [before, traces].inspect
      trap(:PROF, "DEFAULT")
      engine = Profiler.run { }.meta[:engine]
      # The collector thread lives on, asleep, as does the ticker if it was needed; no timer does, and a tick that
      # comes late kills nobody.
      p Dir.children("/proc/self/task").size - before.first - (engine == "ticker" ? 1 : 0)
      p File.read("/proc/self/timers").lines.grep(/^signal: \#{Signal.list["PROF"]}\\//).size
      Process.kill(:PROF, Process.pid)
      sleep 0.05
      puts "alive"
    RUBY
    expect(result.out).to eq("true\n1\n0\nalive\n"), result.err
  end
end
