# frozen_string_literal: true

require_relative "../support/slow_disk"

# Sessions that run for the life of a process, beside apps, disks and other profilers that disturb them.
RSpec.describe "Sessions for the life of a process" do
  include SlowDisk
  include_context "with windows"
  include_context "with a box"

  let(:directory) { in_box("kept") }
  let(:out) { "out: #{directory.inspect}" }

  def stored = Dir.exist?(directory) ? Dir.children(directory) : []

  { "exit" => 0, "Process.kill(:TERM, $$); sleep" => 143, "exit!(3)" => 3 }.each do |ending, status|
    it "end within their timeout if the disk does not respond, and report what was lost: #{ending}" do
      code = <<~RUBY
        require "profiler"
        Profiler.flight_recorder(#{out}, minutes: 0.1, at: %i[crash term exit])
        Profiler.continuous(out: #{in_box("other").inspect}, period: 3_600)
        till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.5
        10.times { |it| it.to_s } while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
        #{ending}
      RUBY
      result = ruby_child("-e", code, env: slow_disk(SlowDisk::HANGS, began: in_box("began")), timeout: 30)
      expect(result.code).to eq(status)
      expect(result.err).to include("[profiler] a profile was lost: Profiler::Error: it took longer than 5 s\n")
      expect(stored.grep(/gz\z/)).to eq([])
    end
  end

  ["exit", "exit!", "exec('true')", "Process.kill(:TERM, $$); sleep"].each do |ending|
    it "store the last profile while 40 threads compute: #{ending}" do
      code = <<~RUBY
        require "profiler"
        Profiler.continuous(#{out}, period: 3_600)
        40.times { Thread.new { loop { 10.times { |it| it.to_s } } } }
        sleep 0.5
        #{ending}
      RUBY
      ruby_child("-e", code)
      expect(stored).to match([/gz\z/])
    end
  end

  it "start again when another owner of SIGPROF is gone, and report it" do
    reason = "SIGPROF has another owner: nothing is recorded until it is free"
    result = run_json(<<~'RUBY', err: eq("[profiler] a profile was lost: Profiler::Error: #{reason}\n"))
      def later = burn(10)
      session = continue
      burn_in_pieces(200)
      trap("PROF") { }
      sleep 0.3
      trap("PROF", "DEFAULT")
      wait_for { later; in_windows("Object#later").positive? }
      print_json([session.running?, session.lost, session.error.message, session.stop, in_windows("Object#later").positive?])
    RUBY
    expect(result).to eq([true, 1, reason, true, true])
  end

  it "survive an exception that the app raises in their threads", :timed do
    result = run_json(<<~'RUBY')
      session = continue
      (Thread.list - [Thread.current]).each { |it| it.raise("stray") } # before it has begun
      burn_in_pieces(100)
      5.times { (Thread.list - [Thread.current]).each { |it| it.raise("stray") }; sleep 0.02 }
      WINDOWS.clear
      wait_for { burn(20); WINDOWS.size > 2 }
      print_json([session.running?, WINDOWS.size > 2, session.lost])
    RUBY
    expect(result).to eq([true, true, 0])
  end

  it "keep the newest files, whatever the clock and the app say of the time" do
    result = run_json(<<~RUBY)
      Dir.mkdir(#{directory.inspect}, 0o700)
      future = Array.new(3) { |it| File.join(#{directory.inspect}, "20990101T00000\#{it}.000-1-00000000.pb.gz") }
      future.each { |it| File.write(it, ""); File.utime(Time.now + 3_600, Time.now + 3_600, it) }
      class << Time; def now = at(0); end
      session = Profiler.continuous(#{out}, period: 0.1, keep: 3)
      wait_for { burn(30); session.delivered > 5 }
      session.stop
      print_json(Dir.children(#{directory.inspect}))
    RUBY
    expect(result.size).to eq(3)
    expect(result).to all(start_with(Time.now.utc.year.to_s))
  end

  it "leave no temporary file when stores are interrupted" do
    left = run_json(<<~RUBY)
      profile = Profiler.run { burn(50) }
      Dir.mkdir(#{directory.inspect})
      till = now + 2_000_000_000
      while now < till
        threads = Array.new(4) { |it| Thread.new { loop { profile.save(File.join(#{directory.inspect}, "\#{it}.pb.gz")) } } }
        threads.each { |it| it.report_on_exception = false }
        sleep(rand * 0.02)
        threads.each { |it| rand < 0.5 ? it.kill : it.raise("stray") }
        threads.each { |it| it.join rescue nil }
      end
      files = -> { Dir.children(#{directory.inspect}).grep(/tmp/) }
      wait_for { files.call.empty? }
      print_json(files.call)
    RUBY
    expect(left).to eq([])
  end

  it "have threads that Puma takes for safe across forks, and that keep nothing of the fiber that began them" do
    result = run_json(<<~'RUBY')
      Fiber[:mine] = "mine" if Fiber.respond_to?(:[]=)
      kept = :nothing
      session = Profiler.continuous(period: 0.1) { kept = Fiber[:mine] if Fiber.respond_to?(:[]) }
      thread = (Thread.list - [Thread.current]).first
      wait_for { burn(20); session.delivered.positive? }
      print_json([thread.thread_variable_get(:fork_safe), kept == "mine"])
    RUBY
    expect(result).to eq([true, false])
  end

  # Puma asks as soon as the app is loaded, when a thread may not have had its first turn.
  it "have threads that are marked as safe for forks from their first instant on" do
    result = run_json(<<~RUBY)
      marked = Array.new(20) { Profiler.const_get(:BackgroundThread).new("mine") { sleep }.then { |it| [it.thread_variable_get(:fork_safe), it.kill] }.first }
      print_json(marked)
    RUBY
    expect(result).to all(be(true))
  end

  it "lose a profile without harm when warnings raise" do
    status = run_json(<<~'RUBY', err: eq("[profiler] a profile was lost: RuntimeError: no space\n"))
      module Warning; def self.warn(*, **) = raise("warned"); end
      app = Profiler::Middleware.new(->(_) { burn(20); [200, {}, ["done"]] }, sample_rate: 1, out: ->(_) { raise "no space" })
      response = app.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "QUERY_STRING" => "")
      response[2].close if response[2].respond_to?(:close)
      print_json(response.first)
    RUBY
    expect(status).to eq(200)
  end

  it "say 500 characters of an error at most, which may inspect all that it knows" do
    run_json(<<~'RUBY', err: match(/\A\[profiler\] a profile was lost: RuntimeError: x{500}\n\z/))
      session = Profiler.continuous(period: 0.1) { raise "x" * 5_000_000 }
      wait_for { burn(20); session.lost.positive? }
      print_json(session.stop)
    RUBY
  end

  it "write nothing into a file of an app that closes all descriptors meanwhile" do
    result = run_json(<<~'RUBY', env: slow_disk("1", began: in_box("began")), chdir: box, err: match(/\A\[profiler\] a profile was lost: Errno::EBADF: .*\n\z/))
      session = Profiler.continuous(out: "d", format: "html", period: 60, mode: :cpu)
      burn(50)
      flushing = Thread.new { session.flush }
      wait_for { File.exist?("began") }
      3.upto(255) { |number| IO.for_fd(number).close rescue nil }
      files = Array.new(8) { |number| File.open("precious.#{number}", "w+") }
      flushing.join
      print_json(sizes: files.map { |file| File.size(file.path) }, open: files.map { |file| File.identical?("/proc/self/fd/#{file.fileno}", file.path) }, lost: session.lost, left: Dir.children("d"))
      $stdout.flush
      exit!(0) # or the last profile would take its time
    RUBY
    expect(result).to eq(sizes: [0] * 8, open: [true] * 8, lost: 1, left: [])
  end

  it "end no process whose stderr is a file that may not grow" do
    code = <<~'RUBY'
      STDERR.reopen("err", "w")
      Process.setrlimit(:FSIZE, 20)
      session = Profiler.continuous(period: 60, mode: :cpu) { raise "mine" }
      2.times { burn(50); session.flush }
      STDERR.reopen("/dev/null")
      session.stop
      print_json([session.lost, File.size("err")])
    RUBY
    expect(run_json(code, chdir: box)).to match([be >= 2, 0])
  end

  it "are said 20 times to be killed, however often they are" do
    run("session = Profiler.continuous(period: 60, mode: :cpu) { }; 30.times { Thread.list.grep(Profiler.const_get(:BackgroundThread)).each { |it| it.kill.join }; wait_for { GC.start; session.running? } }",
        err: satisfy { |said| said.scan("its thread was killed").size == 20 })
  end

  it "let a time-out end a request that waits for a disk that does not answer" do
    lost = "[profiler] a profile was lost: Profiler::Error: the request was interrupted while it was stored\n"
    error = run_json(<<~RUBY, env: slow_disk(SlowDisk::HANGS, began: in_box("began")), err: eq(lost))
      require "timeout"
      app = Profiler::Middleware.new(->(_) { burn(20); [200, {}, ["done"]] }, sample_rate: 1, #{out})
      request = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "QUERY_STRING" => "" }
      print_json(error { Timeout.timeout(1) { app.call(request)[2].then { |body| body.close if body.respond_to?(:close) } } })
    RUBY
    expect(error).to start_with("Timeout::Error")
  end

  { "continuous" => "period: 3_600", "flight_recorder" => "minutes: 1" }.each do |name, options|
    it "let an IO#sysread wait, unless :wall is requested: #{name}" do
      read, modes = run_json(<<~RUBY)
        Profiler.#{name}(#{out}, #{options})
        reader, writer = IO.pipe
        waiting = Thread.new { reader.sysread(4) rescue $!.class.to_s }
        burn(1_000)
        writer.write("here")
        read = waiting.value
        print_json([read, Profiler.const_get(:Periods)::MODES])
      RUBY
      expect(read).to eq("here")
      expect(modes).to eq(RUBY_VERSION < "3.3" ? %w[cpu] : %w[cpu wall])
    end
  end
end
