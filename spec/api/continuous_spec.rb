# frozen_string_literal: true

RSpec.describe "Profiler.continuous" do
  include_context "with windows"
  include_context "with a box"

  KILLED = "[profiler] continuous: recording stops until the next garbage collection, because its thread was killed\n" # rubocop:disable Lint/ConstantDefinitionInBlock

  it "delivers every period, and loses and repeats nothing", :timed do
    result = run_json(<<~RUBY)
      around, elapsed = cpu_now, now
      session = continue(frequency: 1_000)
      used = cpu_of { 8.times { burn(50) } }
      running = Profiler::Continuous.current.equal?(session)
      stopped = session.stop
      around, elapsed = cpu_now - around, now - elapsed
      modes = WINDOWS.map { |profile| profile.meta[:modes].map(&:to_s) }.uniq
      main = WINDOWS.sum { |profile| profile.samples.select { |row| row.thread_name == "main" }.sum(&:cpu) }
      print_json(windows: WINDOWS.size, delivered: session.delivered, lost: session.lost, running: running, stopped: stopped, modes: modes,
                 over: [session.running?, Profiler::Continuous.current, session.stop, Profiler.running?],
                 main: main, used: used, around: around, burnt: in_windows("Object#burn").fdiv(used), periods: elapsed / 100_000_000)
    RUBY
    expect(result).to include(lost: 0, running: true, stopped: true, modes: [RUBY_VERSION < "3.3" ? %w[cpu] : %w[cpu wall]], over: [false, nil, true, false])
    # The thread of the session waits for its turn of the GVL, as any other.
    expect(result[:windows]).to be_between(2, result[:periods] + 2)
    expect(result[:delivered]).to eq(result[:windows])
    expect(result[:main]).to be_between(0.999 * result[:used], 1.001 * result[:around]) # with the start and the stop
    expect(result[:burnt]).to be_between(0.8, 1.1)
  end

  it "stores files in a directory of its own, and keeps the newest" do
    run(<<~RUBY)
      session = Profiler.continuous(out: #{in_box("kept").inspect}, period: 0.1, keep: 3)
      12.times { burn(50); sleep 0.05 }
      session.stop
      files = Dir.glob(File.join(#{in_box("kept").inspect}, "*")) # the last of them can be short
      raise files.inspect unless files.any? { |file| Profiler::Profile.load(file).stats[:samples].positive? }
    RUBY
    files = Dir.children(in_box("kept"))
    expect(files.size).to eq(3)
    expect(files).to all(end_with(".pb.gz"))
    expect(File.stat(in_box("kept")).mode & 0o777).to eq(0o700)
    expect(files.map { |name| File.stat(in_box("kept/#{name}")).mode & 0o777 }.uniq).to eq([0o600])
  end

  it "delivers the last profile at the end of the process" do
    used, burnt = run(<<~RUBY).lines.map { |line| Integer(line) / 1_000_000 }
      Profiler.continuous(period: 3_600) { |profile| puts samples_in(profile, /Object#burn|garbage/).sum(&:cpu) }
      puts cpu_of { burn(100) }
      exit(0)
    RUBY
    expect(burnt).to be_between(used - 40, used + 10)
  end

  it "counts the profiles of a block that raises, says the first, and goes on" do
    result = run_json(<<~'RUBY', err: eq("[profiler] a profile was lost: RuntimeError: no space\n"))
      failures = 0
      session = Profiler.continuous(period: 0.1) { |profile| (failures += 1) < 3 ? raise("no space") : WINDOWS << profile }
      spin(50) until WINDOWS.size == 2
      session.stop
      print_json([session.lost, session.error.message, session.delivered == WINDOWS.size])
    RUBY
    expect(result).to eq([2, "no space", true])
  end

  it "delivers what it has recorded when the app kills all threads, and records no more until the next garbage collection" do
    result = run_json(<<~'RUBY', err: eq(KILLED))
      session = continue(frequency: 1_000)
      used = cpu_of { burn(250) }
      GC.disable
      (Thread.list - [Thread.current]).each(&:kill).each(&:join)
      burn(50)
      print_json([session.running?, Profiler.running?, session.stop, (in_windows("Object#burn") - used) / 1_000_000])
    RUBY
    expect(result).to match([false, false, true, be_between(-50, 10)])
  end

  it "lets an exception from outside through while it waits for the last profile" do
    result = run_json(<<~'RUBY')
      require "timeout"
      session = Profiler.continuous(period: 3_600) { |profile| sleep(1); WINDOWS << profile }
      burn_in_pieces(200)
      raised = error { Timeout.timeout(0.2) { session.stop } }
      print_json([raised, WINDOWS.size, session.lost, session.stop, WINDOWS.size, session.lost])
    RUBY
    expect(result).to eq(["Timeout::Error: execution expired", 0, 0, true, 1, 0])
  end

  ["Profiler.continuous(period: 0.1) { sleep }", "Profiler.continuous(period: 3_600) { sleep }",
   "Thread.handle_interrupt(Object => :never) { Profiler.continuous(period: 0.1) { sleep } }"].each do |code|
    it "does not keep the process from ending when the block hangs: #{code}" do
      result = ruby_child("-e", "require 'profiler'; #{code}; sleep 0.4; puts 1; at_exit { Profiler::Continuous.current&.stop }", timeout: 40)
      expect([result.out, result.status.exitstatus]).to eq(["1\n", 0])
      expect(result.err).to eq("").or eq("[profiler] a profile was lost: Profiler::Error: its thread was ended in the block\n")
    end
  end

  it "ends with its thread, in a child too, and reports what was lost" do
    result = run_json(<<~'RUBY', err: eq("#{KILLED}[profiler] a profile was lost: Profiler::Error: its thread was ended in the block\n"))
      session = continue
      child = in_fork do
        WINDOWS.clear
        GC.disable
        (Thread.list - [Thread.current]).each(&:kill) # before it had a turn
        burn(100)
        [session.stop, Profiler.running?, Profiler::Continuous.current.nil?]
      end
      session.stop
      ended = Profiler.continuous(period: 0.1) { Thread.exit }
      burn_in_pieces(200)
      sleep 0.05 while ended.running?
      over = wait_for { !Profiler.running? } # its session ends next
      print_json([child, ended.lost, ended.error.class, over])
    RUBY
    expect(result).to eq([[true, false, true], 1, "Profiler::Error", true])
  end

  it "delivers what was done while a profile was being delivered, when it is flushed" do
    result = run_json(<<~'RUBY')
      begun = Queue.new
      session = Profiler.continuous(period: 3_600, frequency: 1_000) { |profile| begun << true; sleep(0.5); WINDOWS << profile }
      used = cpu_of { burn(100) }
      Thread.new { session.flush }
      begun.pop
      used += cpu_of { burn(100) }
      print_json([session.flush, WINDOWS.size, (in_windows("Object#burn") - used) / 1_000_000])
    RUBY
    expect(result).to match([true, 2, be_between(-50, 15)])
  end

  it "does not disturb the app when a block raises something that is not a StandardError" do
    code = <<~'RUBY'
      require "profiler"
      Thread.abort_on_exception = true
      Own = Class.new(Exception)
      session = Profiler.continuous(period: 0.1, mode: :wall, frequency: 1_000) { |profile| raise Own, "mine" }
      400.times { session.lost.zero? && sleep(0.05) }
      puts [session.running?, session.lost.positive?, session.error.class].inspect
    RUBY
    result = ruby_child("-W0", "-e", code)
    expect([result.out, result.err, result.status.exitstatus]).to eq(["[true, true, Own]\n", "[profiler] a profile was lost: Own: mine\n", 0])
  end

  it "adds a period without a sample to the next one, once" do
    result = run_json(<<~'RUBY')
      session = continue(mode: :cpu, frequency: 1_000)
      used = Array.new(6) { cpu_of { burn(20) }.tap { sleep 0.25 } }
      session.stop
      print_json([used, WINDOWS.map { |profile| samples_in(profile, /Object#burn|garbage/).sum(&:cpu) }])
    RUBY
    used, burnt = result
    expect(burnt.sum).to be_between(used.sum - 40_000_000, used.sum + 5_000_000)
    expect(burnt.max).to be < used.max(2).sum + 5_000_000
  end

  it "continues when the clock is set back, and when the app replaces sleep" do
    result = run_json(<<~'RUBY')
      def (Profiler.const_get(:Clock)).time = Process.clock_gettime(Process::CLOCK_REALTIME) - $back.to_i
      kernel_sleep = method(:sleep)
      session = continue(mode: %i[wall], frequency: 1_000)
      kernel_sleep.call(0.1) until WINDOWS.any?
      $back = 3_600
      before = WINDOWS.size
      def sleep(*) = 0
      cpu, since = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond), now
      kernel_sleep.call(1) until WINDOWS.size - before > 5 || now - since > 20_000_000_000
      cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) - cpu
      print_json([WINDOWS.size - before, cpu.fdiv(now - since)])
    RUBY
    expect(result).to match([be > 5, be < 0.4])
  end

  it "has no frequency when only objects are sampled, and cannot be stopped in its block" do
    result = run_json(<<~'RUBY')
      stopped = nil
      session = Profiler.continuous(mode: :allocations, period: 0.1, every: 1) { |profile| stopped = session.stop; WINDOWS << profile }
      1_000.times { Object.new }
      sleep 0.05 until WINDOWS.any?
      print_json([objects_of(WINDOWS.first, "Object") >= 1_000, stopped, session.stop, session.running?])
    RUBY
    expect(result).to eq([true, false, true, false])
  end

  it "is one for the process, and can be started again" do
    result = run_json(<<~'RUBY')
      first = continue
      second = error { continue }
      first.stop
      third = continue
      print_json([second, third.running?, third.stop])
    RUBY
    expect(result).to eq(["Profiler::AlreadyRunning: a continuous session is running in this process: stop it first", true, true])
  end

  it "can be started again after a start that was interrupted, and by a child that was forked during one" do
    result = run_json(<<~'RUBY')
      class Profiler::Continuous
        prepend(Module.new { def initialize(...) = super.tap { $amid&.call } })
      end
      $amid = -> { raise Interrupt }
      first = begin; continue; rescue Interrupt; "interrupted"; end
      child = nil
      $amid = lambda do
        $amid = nil
        child = Thread.new { in_fork { [continue.running?, Profiler::Continuous.current.stop] } }.value
      end
      session = continue
      started = session.running?
      session.stop
      together = Array.new(20) { Array.new(3) { Thread.new { continue rescue nil } }.map(&:value).compact.tap { |it| it.each(&:stop) }.size }
      print_json([first, child, started, together.uniq, Profiler.running?])
    RUBY
    expect(result).to eq(["interrupted", [true, true], true, [1], false])
  end

  it "refuses what it cannot do, and leaves nothing running" do
    wrong = {
      "" => "ArgumentError: no block given, and no out: or to:",
      "period: 0, &:itself" => "ArgumentError: period: 0 is not a number of seconds from 0.1 to 86400",
      "period: '1', &:itself" => 'ArgumentError: period: "1" is not a number of seconds from 0.1 to 86400',
      "out: 'x', keep: 0" => "ArgumentError: keep: 0 is not a positive Integer",
      "out: '../x'" => 'ArgumentError: out: "../x" leads upwards (allowed: a directory without ..)',
      "out: '/proc/x'" => "Errno::ENOENT: No such file or directory - /proc/x",
      "mode: :all, &:itself" => /\AArgumentError: .*:all/
    }
    errors, running, threads = run_json(<<~RUBY, chdir: box)
      errors = #{wrong.keys.inspect}.map { |code| error { eval("Profiler.continuous(\#{code})") } }
      print_json([errors, Profiler.running?, Thread.list.size])
    RUBY
    expect(errors).to match(wrong.values.map { |message| message.is_a?(Regexp) ? match(message) : message })
    expect([running, threads]).to eq([false, 1])
  end

  it "is started by PROFILER_CONTINUOUS, without a change to the program" do
    env = { "PROFILER_CONTINUOUS" => "1", "PROFILER_PERIOD" => "0.1", "PROFILER_KEEP" => "50", "PROFILER_OUT" => in_box("all") }
    result = ruby_child("-rprofiler/autoload", "-e", "fork { 6e6.to_i.times { } }; 2e7.to_i.times { }; Process.wait", env: env)
    expect([result.err, result.status.success?]).to eq(["", true])
    pids = Dir.children(in_box("all")).map { |name| name[/-(\d+)-/, 1] }
    expect(pids.uniq.size).to eq(2)
    expect(pids.size).to be > 2

    refused = ruby_child("-rprofiler/autoload", "-e", "puts 1", env: env.merge("PROFILER_DURATION" => "3"))
    expect([refused.out, refused.err])
      .to eq(["1\n", "[profiler] this process is not profiled: PROFILER_DURATION cannot be used with PROFILER_CONTINUOUS\n"])
  end
end
