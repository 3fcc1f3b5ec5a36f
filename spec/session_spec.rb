# frozen_string_literal: true

RSpec.describe "A session" do
  def run(code, **options)
    result = ruby_child("-e", <<~RUBY, **options)
      require "profiler"
      def burn(milliseconds = 60)
        till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) + milliseconds
        10.times { |number| number.to_s } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) < till
      end
      def error = yield.then { "none" } rescue "\#{$!.class}: \#{$!.message}"
      #{code}
    RUBY
    expect(result.status).to be_success, result.err
    expect(result.err).to eq("")
    result.out
  end

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

  it "can be had again and again, each with its own samples" do
    expect(run(<<~RUBY)).to eq("true\ntrue\n")
      def first = burn
      def second = burn
      names = %i[first second].map { |it| Profiler.run { send(it) }.samples.flat_map { |row| row.frames.map(&:name) } }
      p names[0].include?("Object#first"), !names[1].include?("Object#first")
    RUBY
  end

  it "says what of the process it does not see" do
    note = "threads of other Ractors are not in this profile"
    result = ruby_child("-W0", "-e", <<~RUBY)
      require "profiler"
      p Profiler.run { }.meta[:notes]
      ractor = Ractor.new { Ractor.receive }
      p Profiler.run { }.meta[:notes]
    RUBY
    expect(result.out).to eq(%([]\n["#{note}"]\n)), result.err
    skip "this Ruby has no M:N threads" if RUBY_VERSION < "3.3"

    result = ruby_child("-e", "require 'profiler'; puts Profiler.run { }.meta[:notes]", env: { "RUBY_MN_THREADS" => "1" })
    expect(result.out).to match(/\ARUBY_MN_THREADS: .* missing\n\z/), result.err
  end

  it "is one at a time, and says so" do
    expect(run(<<~RUBY)).to eq("Profiler::AlreadyRunning: a session is running: stop it first\ntrue\n")
      session = Profiler.start
      puts error { Profiler.start }
      burn
      p session.stop.samples.any?
    RUBY
  end

  it "cannot be stopped twice, nor when there is none" do
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

  it "starts and stops on any thread and sees all of them" do
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

  it "lets signals that come late pass" do
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

  it "yields to whoever handles SIGPROF already" do
    expect(run("trap(:PROF) { }; puts error { Profiler.run { burn } }; puts Profiler.running?"))
      .to match(/\AProfiler::Unsupported: SIGPROF has a handler that is not ours.*\nfalse\n\z/)
  end

  it "says so when the system gives no timer" do
    skip "needs root and setpriv" unless Process.uid.zero? && system("command -v setpriv prlimit > /dev/null")
    code = "require 'profiler'; begin; Profiler.run { }; rescue Profiler::Unsupported => e; puts e.message; end; p Profiler.running?"
    Dir.mktmpdir do |home|
      command = "exec prlimit --sigpending=0 setpriv --reuid 65534 --regid 65534 --clear-groups #{RbConfig.ruby} -I #{Child::LIB} -e \"#{code}\""
      result = command_child("sh", "-c", command, env: { "HOME" => home })
      skip "the checkout cannot be read by others" if result.err.include?("cannot load such file") || result.err.include?("Permission")
      expect(result.out).to eq("the system gives no timer: Resource temporarily unavailable (os error 11); " \
                               "the quota of pending signals is used up: see ulimit -i\nfalse\n")
    end
  end

  it "belongs to the process that started it" do
    expect(run(<<~RUBY)).to eq("false Profiler::NotRunning\nchild profiles itself: true\nparent: true\n")
      session = Profiler.start
      pid = fork do
        puts "\#{session.running?} \#{error { session.stop }[/\\A\\w+::\\w+/]}"
        3.times { GC.start }
        puts "child profiles itself: \#{Profiler.run { burn }.samples.any?}"
        $stdout.flush
        exit!(0)
      end
      Process.wait(pid)
      burn
      puts "parent: \#{session.stop.samples.any?}"
    RUBY
  end

  it "lets a fork run on through the block of run" do
    Dir.mktmpdir do |directory|
      out = File.join(directory, "cpu.pb.gz")
      expect(run(<<~RUBY)).to eq("nil\n#<Profiler::Profile\n[\"cpu.pb.gz\"]\n")
        pid = nil
        profile = Profiler.run(out: "#{out}") { pid = fork; burn }
        if pid.nil?
          p profile
          $stdout.flush
          exit!(0)
        end
        Process.wait(pid)
        puts profile.inspect[/\\A\\S+/]
        p Dir.children("#{directory}")
      RUBY
    end
  end

  it "starts nothing when the gem is required, and leaves only a handler behind that does nothing" do
    result = ruby_child("-e", <<~RUBY)
      def traces = [Dir.children("/proc/self/task").size, trap(:PROF, nil).inspect, File.read("/proc/self/timers").lines.size]
      before = traces
      trap(:PROF, "DEFAULT")
      require "profiler"
      puts traces.zip(before).map { |now, then_| now == then_ }.all? || [before, traces].inspect
      trap(:PROF, "DEFAULT")
      Profiler.run { }
      # The collector thread lives on, asleep; no timer does, and a tick that comes late kills nobody.
      p Dir.children("/proc/self/task").size - before.first
      p File.read("/proc/self/timers").lines.grep(/^signal: \#{Signal.list["PROF"]}\\//).size
      Process.kill(:PROF, Process.pid)
      sleep 0.05
      puts "alive"
    RUBY
    expect(result.out).to eq("true\n1\n0\nalive\n"), result.err
  end
end

RSpec.describe "A Ruby that cannot be profiled" do
  it "can be asked, and says why" do
    result = ruby_child("-r./spec/scripts/other_engine.rb", "-e", <<~RUBY)
      require "profiler"
      p Profiler.supported?, Profiler.running?
      puts Profiler.unsupported_reason
      begin; Profiler.run { }; rescue Profiler::Unsupported => e; puts e.message == Profiler.unsupported_reason; end
    RUBY
    expect(result.out).to match(/\Afalse\nfalse\n.*is not CRuby.*\ntrue\n\z/), result.err
  end
end
