# frozen_string_literal: true

RSpec.describe "A session" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    def before = burn
    def after = burn
    def has(profile, name) = samples_in(profile, "Object##{name}").any?
  RUBY

  ["trap(:PROF) { }", "Signal.trap('SIGPROF', 'IGNORE')", "Kernel.trap(27, 'DEFAULT')"].each do |trap|
    it "makes way for #{trap}, keeps what it has recorded and reports it" do
      notes = ["recording stopped before the end: the app trapped SIGPROF"]
      expect(run_json(<<~RUBY)).to match(before: true, after: false, notes: notes, more: be < 40_000_000)
        session = nil
        used = cpu_of { session = Profiler.start; before; #{trap} }
        after
        profile = session.stop
        print_json(before: has(profile, :before), after: has(profile, :after), notes: profile.meta[:notes],
                   more: profile.stats[:cpu_ns] - used)
      RUBY
    end
  end

  it "arms no timer for threads that start after the app has trapped SIGPROF" do
    expect(run_json(<<~RUBY)).to eq(seen: 0)
      seen = 0
      session = Profiler.start(interval: 50)
      trap(:PROF) { seen += 1 }
      Array.new(3) { Thread.new { burn(60) } }.each(&:join)
      trap(:PROF, "DEFAULT")
      Thread.new { burn(60) }.join
      session.stop
      print_json(seen: seen)
    RUBY
  end

  it "adds no module that answers otherwise than a module does, as programs that look at all modules ask for their names" do
    expect(run_json(<<~RUBY)).to eq []
      modules = [Profiler]
      modules.each { |owner| modules.concat(owner.constants(false).map { |name| owner.const_get(name) }.grep(Module) - modules) }
      name = Module.instance_method(:name)
      ours = ObjectSpace.each_object(Module).select { |it| name.bind_call(it).to_s.start_with?("Profiler") }
      print_json(ours.reject { |it| (it.name rescue nil).eql?(name.bind_call(it)) }.map { |it| name.bind_call(it) })
    RUBY
  end

  it "can be started, stopped and saved in a trap" do
    size = run_json(<<~RUBY)
      require "tmpdir"
      Dir.mktmpdir do |box|
        trap(:USR2) { Profiler.running? ? Profiler.stop.save("\#{box}/x.svg") : Profiler.start }
        2.times { Process.kill(:USR2, Process.pid); burn }
        print_json(File.size("\#{box}/x.svg"))
      end
    RUBY
    expect(size).to be > 1_000
  end

  it "is refused while the app traps SIGPROF" do
    expect(run_json(<<~RUBY)).to match(seen: [27], refused: /\AProfiler::Unsupported: /, running: false, handler: "Proc", again: true)
      seen = []
      session = Profiler.start
      before
      trap(:PROF) { |number| seen << number }
      Process.kill(:PROF, Process.pid)
      burn
      session.stop
      print_json(seen: seen, refused: error { Profiler.run { } }, running: Profiler.running?, handler: trap(:PROF, "DEFAULT").class.name,
                 again: has(Profiler.run { before }, :before))
    RUBY
  end

  it "notices a handler that was installed behind Ruby's back" do
    expect(run_json(<<~RUBY)).to match(before: true, after: false, notes: include(/: SIGPROF was given another handler/), again: true)
      require "fiddle"
      sigaction = Fiddle::Function.new(Fiddle.dlopen(nil)["signal"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOIDP)
      session = Profiler.start
      before
      sigaction.call(27, 1) # SIG_IGN
      wait_for { session.snapshot.meta[:notes].grep(/SIGPROF/).any? } # the collector looks a few times a second
      after
      profile = session.stop
      print_json(before: has(profile, :before), after: has(profile, :after), notes: profile.meta[:notes], again: has(Profiler.run { before }, :before))
    RUBY
  end

  it "is not given up for what the collector saw before it began" do
    # The collector runs already, and finds no handler. It acts after the second session has installed ours.
    expect(run_json(<<~RUBY, env: Preloaded.env("slow_look").merge("SLOW_LOOK" => "500"))).to eq(running: true, has: true, notes: [])
      objects = Profiler.start(mode: :allocations)
      sleep 0.1
      session = Profiler.start(mode: :cpu)
      sleep 1
      before
      running = !session.paused?
      profile = session.stop
      objects.stop
      print_json(running: running, has: has(profile, :before), notes: profile.meta[:notes].grep(/SIGPROF/))
    RUBY
  end

  it "does not close a file of the app that has the number of a stolen descriptor" do
    skip "perf is refused here" unless Perf.available?
    stolen, written = run_json(<<~RUBY)
      session = Profiler.start(engine: :perf)
      counters = -> { Dir.children("/proc/self/fd").select { |fd| (File.readlink("/proc/self/fd/\#{fd}") rescue "").include?("perf_event") } }
      300.times { break unless counters.call.empty?; 20_000.times { |it| it.to_s } }
      sleep 1 # until it is not only there but also in use
      taken = counters.call.map { |fd| Integer(fd) }
      taken.each { |fd| IO.for_fd(fd, "r").close }
      own = taken.map { File.open("/dev/null", "w") }
      session.stop
      print_json([taken.size, own.sum { |file| file.syswrite("x") }])
    RUBY
    expect(written).to eq(stolen).and be_positive
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
      Profiler.run { }
      object = Class.new { def method_missing(name, *) = name }.new
      print_json(called: %i[trap exec exit! fork].map { |name| object.public_send(name, "x") },
                 callable: %i[trap exec exit!].select { |name| Kernel.private_method_defined?(name) && Kernel.respond_to?(name) })
    RUBY
    [[], ["-rprofiler/autoload"]].each do |options|
      called = Dir.mktmpdir { |box| run_json(code, ruby_options: options, chdir: box, env: { "PROFILER_QUIET" => "1" }) }
      expect(called).to eq(called: %w[trap exec exit! fork], callable: %w[trap exec exit!]), options.inspect
    end
  end

  describe "with an app that redefines hooked methods" do
    # @return [Array] results of all the methods, and those where the app's own code ran; or a warning
    def redefined(*steps, **options)
      Dir.mktmpdir do |box|
        program = File.join(Child::ROOT, "spec/programs/interop/redefined.rb")
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

    it "keeps private methods private, and prints no warning" do
      expect(redefined("autoload", "start", ruby_options: ["-W2"])).to eq([plain, []])
    end

    it "still makes way" do
      expect(run_json(<<~RUBY)).to eq(notes: ["recording stopped before the end: the app trapped SIGPROF"], handler: "IGNORE")
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
        print_json(notes: session.stop.meta[:notes], handler: trap(:PROF, "DEFAULT"))
      RUBY
    end

    it "hooks the methods that it can" do
      expect(run_json(<<~RUBY)).to match(exec: /\AErrno::ENOENT: /, value: 7, trap: "ArgumentError: wrong number of arguments (given 0, expected 1..2)")
        Process.singleton_class.undef_method(:exec)
        Signal.freeze
        Signal.singleton_class.freeze
        Array.new(4) { Thread.new { Profiler.run { } } }.each(&:join)
        print_json(exec: error { exec("/no/such/program") }, value: Profiler.run { 7 }.value, trap: error { trap })
      RUBY
    end

    it "keeps their clones callable, and any object a receiver" do
      expect(run_json(<<~RUBY)).to eq(%w[DEFAULT DEFAULT])
        Profiler.run { }
        class << Kernel
          alias old_method_added method_added
          private def method_added(name) = old_method_added(name)
        end
        load "delegate.rb" # this one copies Kernel
        print_json([Signal.clone.trap(:USR1, "DEFAULT"), Kernel.instance_method(:trap).bind_call(BasicObject.new, :USR1, "DEFAULT")])
      RUBY
    end
  end

  it "refuses to take over a foreign timer of the process" do
    expect(run_json(<<~RUBY)).to match([/\AProfiler::Unsupported: the timer of the process \(ITIMER_PROF\) is already in use/, false])
      require "fiddle"
      setitimer = Fiddle::Function.new(Fiddle.dlopen(nil)["setitimer"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
      setitimer.call(2, [0, 0, 1_000, 0].pack("q4"), nil)
      print_json([error { Profiler.start(engine: :setitimer) }, Profiler.running?])
    RUBY
  end

  it "refuses to load a second copy of the extension" do
    Dir.mktmpdir do |copy|
      FileUtils.cp_r(Child::LIB, copy)
      refused = 'begin; require "COPY/lib/profiler/profiler.so"; rescue LoadError; $!.message; end'.sub("COPY", copy)
      expect(run_json("print_json([#{refused}, Profiler.run { 1 }.value])")).to match([/\Aanother copy of the profiler's extension is loaded already/, 1])
    end
  end

  it "can be stopped in at_exit, and does no harm if left running" do
    expect(run_json("at_exit { print_json(Profiler.stop.samples.any?) }; Profiler.start; burn")).to be(true)
    { "exit" => 0, "exit!(0)" => 0, "abort" => 1, "raise" => 1 }.each do |ending, status|
      result = ruby_child("-e", "require 'profiler'; Profiler.start(interval: 50); Thread.new { loop { 1.to_s } }; 100_000.times(&:to_s); #{ending}")
      expect([result.code, result.err]).to match([status, ending == "raise" ? /unhandled exception/ : ""]), ending
    end
  end
end
