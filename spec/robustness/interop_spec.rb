# frozen_string_literal: true

RSpec.describe "A session" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    def before = burn
    def after = burn
    def has(profile, name) = profile.samples.any? { |row| row.frames.any? { |frame| frame.name == "Object##{name}" } }
  RUBY

  ["trap(:PROF) { }", "Signal.trap('SIGPROF', 'IGNORE')", "Kernel.trap(27, 'DEFAULT')"].each do |trap|
    it "makes way for #{trap}, keeps what it has and says so" do
      expect(run(<<~RUBY)).to eq("[true, false]\n[\"the app trapped SIGPROF: nothing was recorded from then on\"]\ntrue\nalive\n")
        session = Profiler.start
        before
        #{trap}
        after
        profile = session.stop
        p [has(profile, :before), has(profile, :after)]
        p profile.meta[:notes]
        p profile.stats[:cpu_ns] < 100_000_000
        puts "alive"
      RUBY
    end
  end

  it "gives no timer to threads that start after the app has trapped SIGPROF" do
    expect(run(<<~RUBY)).to eq("alive 0\n")
      seen = 0
      session = Profiler.start(interval: 50)
      trap(:PROF) { seen += 1 }
      Array.new(3) { Thread.new { burn(60) } }.each(&:join)
      trap(:PROF, "DEFAULT")
      Thread.new { burn(60) }.join
      session.stop
      puts "alive \#{seen}"
    RUBY
  end

  it "can be started, stopped and saved in a trap" do
    expect(run(<<~RUBY)).to eq("true\n")
      require "tmpdir"
      Dir.mktmpdir do |box|
        trap(:USR2) { Profiler.running? ? Profiler.stop.save("\#{box}/x.svg") : Profiler.start }
        2.times { Process.kill(:USR2, Process.pid); burn }
        p File.size("\#{box}/x.svg") > 1_000
      end
    RUBY
  end

  it "is refused while the app traps SIGPROF" do
    expect(run(<<~RUBY)).to eq("[1, 27]\nProfiler::Unsupported\nfalse\n#<Proc\ntrue\n")
      seen = []
      session = Profiler.start
      before
      trap(:PROF) { |number| seen << number }
      Process.kill(:PROF, Process.pid)
      burn
      session.stop
      p [seen.size, seen.first]
      puts error { Profiler.run { } }[/\\A\\w+::\\w+/]
      p Profiler.running?
      puts trap(:PROF, "DEFAULT").inspect[/\\A#<\\w+/]
      p has(Profiler.run { before }, :before)
    RUBY
  end

  it "notices a handler that was installed behind Ruby's back" do
    expect(run(<<~RUBY)).to eq("[true, false]\ntrue\ntrue\n")
      require "fiddle"
      sigaction = Fiddle::Function.new(Fiddle.dlopen(nil)["signal"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOIDP)
      session = Profiler.start
      before
      sigaction.call(27, 1) # SIG_IGN
      sleep 0.6 # the collector looks a few times a second
      after
      profile = session.stop
      p [has(profile, :before), has(profile, :after)]
      p profile.meta[:notes].any? { |it| it.start_with?("SIGPROF was given another handler") }
      p has(Profiler.run { before }, :before)
    RUBY
  end

  it "does not close a file of the app that has the number of a stolen descriptor" do
    skip "perf is refused here" unless Perf.available?
    expect(run(<<~RUBY)).to eq("true\nstill open\n")
      session = Profiler.start(engine: :perf)
      counters = -> { Dir.children("/proc/self/fd").select { |fd| (File.readlink("/proc/self/fd/\#{fd}") rescue "").include?("perf_event") } }
      300.times { break unless counters.call.empty?; 20_000.times { |it| it.to_s } }
      sleep 0.2 # until it is not only there but also in use
      taken = counters.call.map { |fd| Integer(fd) }
      puts taken.any?
      taken.each { |fd| IO.for_fd(fd, "r").close }
      own = taken.map { File.open("/dev/null", "w") }
      session.stop
      own.each { |file| file.syswrite("x") }
      puts "still open"
    RUBY
  end

  it "disarms its timers before exec, whatever the engine, and goes on if that fails" do
    Perf.among("perf", "thread_timer", "ticker", "setitimer").each do |engine|
      expect(run(<<~RUBY)).to eq("Errno::ENOENT\n[true, true]\ndone\n")
        session = Profiler.start(engine: :#{engine})
        before
        puts error { exec("there is no such command") }[/\\A\\w+::\\w+/]
        after
        profile = session.snapshot
        p [has(profile, :before), has(profile, :after)]
        $stdout.flush
        # A program of its own that uses CPU: an armed timer would kill it.
        exec("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done")
      RUBY
    end
  end

  it "leaves Kernel's private methods private" do
    code = <<~RUBY
      require "profiler"
      Profiler.run { }
      object = Class.new { def method_missing(name, *) = name }.new
      p %i[trap exec exit! fork].map { |name| object.public_send(name, "x") }
      p %i[trap exec exit!].map { |name| Kernel.private_method_defined?(name) && Kernel.respond_to?(name) }
    RUBY
    [[], ["-rprofiler/autoload"]].each do |options|
      result = Dir.mktmpdir { |box| ruby_child("-e", code, ruby_options: options, chdir: box) }
      expect(result.out).to eq("[:trap, :exec, :exit!, :fork]\n[true, true, true]\n"), result.err
    end
  end

  describe "with an app that redefines methods that have hooks" do
    # @return [Array] results of all the methods, and those where the app's own code ran; or a warning
    def redefined(*steps, **options)
      Dir.mktmpdir do |box|
        program = File.join(Child::ROOT, "spec/programs/redefined.rb")
        result = ruby_child(program, *steps, chdir: box, env: { "PROFILER_QUIET" => "1" }, **options)
        expect(result.status).to be_success, "#{steps}: #{result.err[0, 2_000]}"
        [result.out.lines, result.err.lines.uniq.sort]
      end
    end

    let(:plain) { redefined.first }
    let(:all) { plain.map { |line| "#{line[/ (.*): /, 1]}\n" }.sort }

    it "calls each method and the app's own code, whichever came first" do
      expect(plain.size).to eq(13)
      %w[start autoload].product(%w[wrap prepend]).flat_map { |pair| [pair, pair.reverse] }.each do |steps|
        expect(redefined(*steps)).to eq([plain, all]), steps.inspect
      end
    end

    it "calls each method after a stub is removed" do
      [%w[start stub], %w[autoload stub], %w[stub autoload]].each { |steps| expect(redefined(*steps)).to eq([plain, []]), steps.inspect }
    end

    it "keeps private what is private, and warns of nothing" do
      expect(redefined("autoload", "start", ruby_options: ["-W2"])).to eq([plain, []])
    end

    it "still makes way" do
      expect(run(<<~RUBY)).to eq("[\"the app trapped SIGPROF: nothing was recorded from then on\"]\nIGNORE\n")
        module Kernel
          alias old_trap trap
          private def trap(...) = old_trap(...)
        end
        session = Profiler.start
        module Kernel
          alias older_trap trap
          private def trap(...) = older_trap(...)
        end
        trap(:PROF, "IGNORE")
        p session.stop.meta[:notes]
        puts trap(:PROF, "DEFAULT")
      RUBY
    end

    it "sets the hooks that it can" do
      expect(run(<<~RUBY)).to eq("Errno::ENOENT\n7\nwrong number of arguments (given 0, expected 1..2)\n")
        Process.singleton_class.undef_method(:exec)
        Signal.freeze
        Signal.singleton_class.freeze
        Array.new(4) { Thread.new { Profiler.run { } } }.each(&:join)
        puts error { exec("/no/such/program") }[/\\A\\w+::\\w+/]
        p Profiler.run { 7 }.value
        puts error { trap }.delete_prefix("ArgumentError: ")
      RUBY
    end

    it "keeps their clones callable, and any object a receiver" do
      expect(run(<<~RUBY)).to eq("DEFAULT\nDEFAULT\n")
        Profiler.run { }
        class << Kernel
          alias old_method_added method_added
          private def method_added(name) = old_method_added(name)
        end
        load "delegate.rb" # this one copies Kernel
        puts Signal.clone.trap(:USR1, "DEFAULT")
        puts Kernel.instance_method(:trap).bind_call(BasicObject.new, :USR1, "DEFAULT")
      RUBY
    end
  end

  it "refuses to take over a foreign timer of the process" do
    expect(run(<<~RUBY)).to match(/\AProfiler::Unsupported: the timer of the process \(ITIMER_PROF\) is armed already.*\nfalse\n\z/)
      require "fiddle"
      setitimer = Fiddle::Function.new(Fiddle.dlopen(nil)["setitimer"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
      setitimer.call(2, [0, 0, 1_000, 0].pack("q4"), nil)
      puts error { Profiler.start(engine: :setitimer) }
      p Profiler.running?
    RUBY
  end

  it "refuses to load a second copy of the extension" do
    result = Dir.mktmpdir do |copy|
      FileUtils.cp_r(Child::LIB, copy)
      ruby_child("-e", "require 'profiler'; begin; require '#{copy}/lib/profiler/profiler.so'; rescue LoadError => e; puts e.message; end; p Profiler.run { 1 }.value")
    end
    expect(result.out).to match(/\Aanother copy of the profiler's extension is loaded already.*\n1\n\z/), result.err
  end

  it "stops well from at_exit, and left running does no harm" do
    expect(run("at_exit { p Profiler.stop.samples.any? }; Profiler.start; burn")).to eq("true\n")
    %w[exit exit!(0) abort raise].each do |ending|
      result = ruby_child("-e", "require 'profiler'; Profiler.start(interval: 50); Thread.new { loop { 1.to_s } }; 100_000.times(&:to_s); #{ending}")
      expect(result.status.signaled?).to be(false), "#{ending}: #{result.status} #{result.err}"
    end
  end
end
