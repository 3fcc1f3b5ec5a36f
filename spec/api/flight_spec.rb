# frozen_string_literal: true

RSpec.describe "Profiler.flight_recorder" do
  include_context "with a program"
  include_context "with a box"

  let(:directory) { in_box("flights") }
  let(:prelude) { <<~RUBY }
    OUT = #{directory.inspect}
    def record(**options) = Profiler.flight_recorder(out: OUT, minutes: 0.1, **options)
    def files = Dir.exist?(OUT) ? Dir.children(OUT).sort : []
    def wait_for_files(number)
      wait_for { files.grep(/gz\\z/).size >= number }
      files.map { |name| Profiler::Profile.load(File.join(OUT, name)).meta[:metadata]["saved"] }
    end
    # CPU time in a method, in milliseconds. Before Ruby 3.3 a GC does not stand under its cause.
    def cpu_in(profile, method) = samples_in(profile, /\#{method}|\\(garbage collection\\)/).sum(&:cpu) / 1_000_000
  RUBY

  # The reasons in the files of the directory.
  def reasons = run_json("print_json(wait_for_files(0))")

  it "saves the last minutes with their time, and goes on" do
    result = run_json(<<~'RUBY')
      flight = record(frequency: 1_000, mode: %i[cpu wall])
      slept = 0
      used = [cpu_of { 5.times { burn(60); slept -= now; sleep 0.05; slept += now } }]
      profile = Profiler.flight.profile
      file = flight.save
      used << cpu_of { 3.times { burn(20) } }
      svg = flight.save(File.join(OUT, "chosen.svg"))
      later = flight.profile
      stopped = flight.stop
      burnt = [profile, later].map { |it| cpu_in(it, "Object#burn") }
      print_json(burnt: burnt, used: used.map { |ns| ns / 1_000_000 }, slept: slept / 1_000_000,
                 events: profile.timeline.size, length: profile.stats[:duration_ns] / 1_000_000,
                 waited: samples_in(profile, "Kernel#sleep").select { |it| it.state == :waiting }.sum(&:wall) / 1_000_000,
                 meta: Profiler::Profile.load(file).meta.slice(:pid, :metadata), pid: $$, svg: File.read(svg, 4), saved: flight.saved,
                 stopped: stopped, over: [flight.running?, error { Profiler.flight }, Profiler.running?])
    RUBY
    used = result[:used]
    expect(result[:burnt].first).to be_between(used[0] - 30, used[0] + 10)
    expect(result[:burnt].last - result[:burnt].first).to be_between(used[1] - 15, used[1] + 10)
    expect(result).to include(saved: 0, stopped: true, svg: "<?xm", length: be > 500)
    expect(result[:events]).to be > 20
    expect(result[:waited]).to be > 0.7 * result[:slept]
    expect(result[:meta]).to eq(pid: result[:pid], metadata: { saved: "requested" })
    expect(result[:over]).to eq([false, "Profiler::NotRunning: no flight recorder is running in this process", false])
  end

  it "keeps no more than its minutes and its memory" do
    result = run_json(<<~'RUBY')
      Profiler::Flight
      parts = Profiler::Flight::Parts.new(0.1, 1 << 20)
      20.times { parts.add("x" * 100_000) }
      large = parts.to_a.sum(&:bytesize)
      parts.add("y" * 2_000_000)
      alone = parts.to_a.map { |it| it[0] }
      flight = record
      40.times { burn(10); sleep 0.19 }
      print_json(large: large, alone: alone, seconds: flight.profile.stats[:duration_ns] / 1e9)
    RUBY
    expect(result[:large]).to be_between(900_000, 1 << 20)
    expect(result[:alone]).to eq(["y"])
    expect(result[:seconds]).to be_between(5, 8) # six, and one part more
  end

  it "writes a file at a signal, and calls the app's own trap" do
    result = run_json(<<~'RUBY')
      trap("USR2") { $app = true }
      flight = record(signal: "SIGUSR2")
      burn(100)
      Process.kill("USR2", $$)
      saved = wait_for_files(1)
      flight.stop
      $app, app = nil, $app
      Process.kill("USR2", $$)
      burn(20)
      print_json([saved, app, $app, flight.saved, files.size])
    RUBY
    expect(result).to eq([["SIGUSR2"], true, true, 1, 1])
  end

  { "raise 'mine'" => ["crash: RuntimeError"], "exit(3)" => nil, "Process.kill(:TERM, $$); sleep" => ["SIGTERM"], "exit!" => nil, "abort" => nil,
    "Process.kill(:INT, $$); sleep" => nil, "Profiler.flight.stop; raise 'mine'" => nil }.each do |ending, reasons|
    it "writes #{reasons ? "a file" : "no file"} where the process ends by #{ending}" do
      run("Process.wait(fork { $stderr.reopen(File::NULL); record; burn_in_pieces(200); #{ending} })")
      expect(self.reasons).to eq(reasons || [])
    end
  end

  it "writes a file at any other end, if that is wanted" do
    run("Process.wait(fork { record(at: [:exit]); trap(:TERM) { exit }; burn(50); Process.kill(:TERM, $$); sleep 2 })")
    expect(reasons).to eq(["exit"])
  end

  it "finishes the file that it is writing before the process ends, whatever comes meanwhile" do
    run(<<~'RUBY')
      reader, writer = IO.pipe
      pid = fork do
        $stderr.reopen(File::NULL)
        record(frequency: 1_000)
        Array.new(4) { Thread.new { burn(150) } }.each(&:join)
        writer.puts
        sleep
      end
      reader.gets
      3.times { Process.kill(:TERM, pid); sleep 0.005 } rescue Errno::ESRCH
      Process.wait(pid)
      Process.wait(fork { record(signal: "USR2"); burn(100); Process.kill(:USR2, $$) })
    RUBY
    expect(reasons).to eq(%w[SIGTERM SIGUSR2])
  end

  it "takes many signals as few, and starts no thread for them" do
    files, threads, saved = run_json(<<~'RUBY')
      flight = record(signal: "USR2", keep: 1_000)
      burn(100)
      most = 0
      200.times { 3.times { Process.kill(:USR2, $$) }; sleep 0.001; most = [most, Thread.list.size].max }
      flight.stop
      print_json([files.size, most, flight.saved])
    RUBY
    expect(files).to be_between(1, 400)
    expect([threads, saved]).to eq([2, files])
  end

  it "does not replace a trap that the app sets later" do
    killed = eq("[profiler] flight: recording stops until the next garbage collection, because its thread was killed\n")
    expect(run_json(<<~'RUBY', err: killed)).to eq([[true, false], 0])
      flight = record(signal: "USR2")
      trap("USR2") { $app = true }
      burn(50)
      flight.stop
      Process.kill(:USR2, $$)
      burn(20)
      later = record(signal: "USR2")
      (Thread.list - [Thread.main]).each(&:kill).each(&:join)
      flight = record(signal: "USR2") # the one before is over
      saved = [$app, later.running?]
      flight.stop
      print_json([saved, flight.saved + later.saved])
    RUBY
  end

  it "does not mistake an exception that is being handled during a fork for a crash of the child" do
    run(<<~'RUBY')
      record
      begin
        raise "handled"
      rescue StandardError
        Process.wait(fork { burn(50) })
      end
    RUBY
    expect(reasons).to eq([])
  end

  it "keeps its minutes in a daemon", :timed do
    used = Float(run(<<~RUBY)) / 1_000_000
      record(at: [:exit])
      def before = burn(200)
      puts cpu_of { before }
      $stdout.flush
      Process.daemon(true, true)
      burn(50)
    RUBY
    cpu = run_json(<<~'RUBY')
      wait_for_files(1)
      print_json(cpu_in(Profiler::Profile.load(File.join(OUT, *files)), "Object#before"))
    RUBY
    expect(cpu).to be_between(used - 40, used + 70) # a sample stands for 10 ms
  end

  it "writes a file with only the child's samples when a forked child crashes" do
    run(<<~'RUBY')
      record
      burn(200)
      def in_child = burn(100)
      reader, writer = IO.pipe
      pid = fork { $stderr.reopen(File::NULL); writer.puts(cpu_of { in_child }); raise "mine" }
      Process.wait(pid)
      used = Integer(reader.gets) / 1_000_000
      profile = Profiler::Profile.load(File.join(OUT, *files))
      raise profile.meta.inspect unless profile.meta[:pid] == pid
      own, all = %w[Object#in_child Object#burn].map { |name| cpu_in(profile, name) }
      raise [own, all, used].inspect unless [own, all].all? { |it| it.between?(used - 30, used + 15) }
    RUBY
  end

  it "writes a file after a slow request, at most one for the same minutes" do
    saved, responses, written = run_json(<<~'RUBY')
      app = Profiler::Middleware.new(->(env) { sleep env["nap"]; [200, {}, ["done"]] })
      call = ->(nap) { app.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "QUERY_STRING" => "", "nap" => nap).first }
      flight = record(slower_than: 1, mode: %i[cpu wall])
      responses = [call.(0.01)]
      none = wait_for_files(0)
      responses << call.(1.1) << call.(1.05)
      saved = none + wait_for_files(1)
      flight.stop
      responses << call.(1.05)
      sleep 0.1
      print_json([saved, responses, flight.saved])
    RUBY
    expect(saved).to match([/\Aa request took [1-9]\.\d+ s\z/])
    expect([responses, written]).to eq([[200] * 4, 1])
  end

  it "writes a file when garbage collection takes too much time" do
    result = run_json(<<~'RUBY')
      flight = record(gc_above: 0.1, mode: %i[cpu wall]) # of busy time, of which waiting for a CPU is a part
      GC.disable # working collects garbage as well
      burn(500)
      none = files
      GC.enable
      till = now + 20_000_000_000
      GC.start while files.empty? && now < till
      print_json([none, wait_for_files(1)])
    RUBY
    expect(result).to match([[], [/\Agc: [01]\.\d\d of busy time, above 0\.1\z/]])
  end

  it "runs beside a continuous session" do
    result = run_json(<<~'RUBY')
      parts = []
      continuous = Profiler.continuous(period: 0.1) { |profile| parts << profile }
      flight = record
      used = cpu_of { burn(200) } / 1_000_000
      twice = error { record }
      burnt = [cpu_in(flight.profile, "Object#burn"), flight.stop, continuous.stop, parts.sum { |it| cpu_in(it, "Object#burn") }]
      print_json([used, *burnt, twice])
    RUBY
    burnt = be_between(result[0] - 30, result[0] + 15)
    expect(result.drop(1))
      .to match([burnt, true, true, burnt, "Profiler::AlreadyRunning: a flight recorder is running in this process: stop it first"])
  end

  it "refuses what it cannot do, and starts nothing" do
    file = in_box("file").tap { |path| File.write(path, "") }
    refused = {
      { minutes: 0 } => "minutes: 0 is not a number from 0.1 to 1440",
      { memory: 1.5 } => "memory: 1.5 is not an Integer from 1048576 to 1073741824 bytes",
      { at: [:never] } => "at: :never is not an end (allowed: :crash, :term, :exit)",
      { signal: "PROF" } => 'signal: "PROF" is not a signal that can be used (allowed: USR1, USR2, HUP and similar ones)',
      { slower_than: "1" } => 'slower_than: "1" is not a number above 0',
      { gc_above: 2 } => "gc_above: 2 is not a share from 0.01 to 1",
      { gc_above: 0.5, mode: :cpu } => "gc_above: 0.5 needs mode: :wall",
      { gvl_above: 0.5, mode: :cpu } => "gvl_above: 0.5 needs #{RUBY_VERSION < "3.3" ? "Ruby 3.3 or later" : "mode: :wall"}",
      { signal: "TERM" } => 'signal: "TERM" would end the process (allowed: USR1, USR2, URG and similar ones; to save when the process ends, pass at:)',
      { out: nil } => "out: nil is not the name of a directory",
      { out: file } => "out: #{file} is not a directory",
      { mode: :never } => "mode: :never is not a mode (allowed: :cpu, :wall, :allocations, :heap, :native, an Array of these)",
      { period: 3 } => a_string_starting_with("unknown keyword: :period ")
    }
    errors, running, threads, flight = run_json(<<~RUBY)
      errors = #{refused.keys.inspect}.map { |options| error { Profiler.flight_recorder(out: OUT, minutes: 1, **options) } }
      print_json([errors, Profiler.running?, Thread.list.size, error { Profiler.flight }])
    RUBY
    expect(errors).to all(start_with("ArgumentError: "))
    expect(errors.map { |error| error.delete_prefix("ArgumentError: ") }).to match(refused.values)
    expect([running, threads]).to eq([false, 1])
    expect(flight).not_to eq("none")
  end

  it "starts again after the app had SIGPROF, on the thread that it was started for, and saves that" do
    err = match(/\A\[profiler\] a flight was not saved: .*SIGPROF has another owner: nothing is recorded until it is free\n\z/)
    result = run_json(<<~'RUBY', err: err)
      def after_trap = burn(100)
      flight = record(mode: :cpu, frequency: 1_000, threads: :current, at: %i[exit])
      burn(100)
      trap("PROF") {}
      trap("PROF", "DEFAULT")
      wait_for { after_trap; cpu_in(flight.profile, "after_trap") > 50 }
      print_json(after: cpu_in(flight.profile, "after_trap") > 50, files: files)
    RUBY
    expect(result).to eq(after: true, files: [])
    expect(reasons).to eq(["exit"])
  end

  it "starts with PROFILER_FLIGHT, without a change to the program" do
    written = "Dir.glob(#{File.join(directory, "*.gz").inspect}).any?"
    code = "4_000_000.times { |it| it.to_s }; Process.kill(:USR1, $$); sleep 0.01 until #{written}; raise 'mine'"
    result = ruby_child("-rprofiler/autoload", "-e", code,
                        env: { "PROFILER_FLIGHT" => "1", "PROFILER_OUT" => directory, "PROFILER_SIGNAL" => "USR1", "PROFILER_MINUTES" => "0.2" })
    expect(result.err).to include("mine (RuntimeError)")
    expect(reasons).to eq(["SIGUSR1", "crash: RuntimeError"])
    expect(ruby_child("-rprofiler/autoload", "-e", "1", env: { "PROFILER_FLIGHT" => "1", "PROFILER_DURATION" => "3" }).err)
      .to eq("[profiler] this process is not profiled: PROFILER_DURATION cannot be used with PROFILER_FLIGHT\n")
  end
end
