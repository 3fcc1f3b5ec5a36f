# frozen_string_literal: true

require "socket"
require_relative "../support/live"

# The control socket, its clients and the signal, when the process or its descriptors change under them.
RSpec.describe "The control socket, when the process changes" do
  include_context "with a live program"

  # The app closes what it did not open, as daemons do.
  let(:close_all) { "3.upto(255) { |number| IO.for_fd(number).close rescue nil }" }

  # Code that the process runs between two requests, and whether its clients and their sessions live through that.
  transitions = {
    "nothing" => ["", true],
    "a close, and a new control" => ["Profiler.control.close; Profiler.control", false],
    "an exec that fails" => ["exec('/no/such/program') rescue nil", true],
    "an exec" => ["exec(RbConfig.ruby, '-I', #{Child::LIB.dump}, '-e', ENV.fetch('AGAIN'))", false],
    "a fork" => ["Process.wait(fork { exit!(0) })", true],
    "a fork that lives on" => ["fork { sleep 5 }", true],
    "dropped privileges" => ["Process::Sys.seteuid(65_534) if Process.uid.zero?; sleep 0.1; Process::Sys.seteuid(0) if Process.uid.zero?", true],
    "the end of all threads" => ["kill_all; Profiler.control", false],
    "the end of all threads, and a garbage collection" => ["kill_all; GC.start && sleep(0.05) until Profiler::Control.current", true],
    "a signal that prints a dump" => ["Profiler.control(dump_signal: 'USR2'); Process.kill(:USR2, $$)", true],
    "no descriptor left" => ["kept = []; begin; loop { kept << File.open('/dev/null') }; rescue Errno::EMFILE; end", true],
    "a fork on a full disk" => ["fill; Process.wait(fork { exit!(0) }); exit!(1) unless $?.success?", true],
    "a close on a full disk, and a new control" => ["Profiler.control.close; fill; said = (Profiler.control rescue $!); empty; " \
                                                    "Profiler.control if said.is_a?(Errno::ENOSPC)", false]
  }

  # Runs the block with a directory for the sockets in which there is place for a few files.
  def with_small_disk
    skip "only root can mount" unless Process.uid.zero?
    Dir.mkdir(control)
    skip "nothing can be mounted here" unless system("mount", "-t", "tmpfs", "-o", "mode=700,nr_inodes=8", "none", control, err: File::NULL)
    begin
      yield
    ensure
      system("umount", "--lazy", control)
    end
  end

  around(:example, :small_disk) { |example| with_small_disk { example.run } }

  let(:changing) { <<~RUBY }
    def kill_all = (Thread.list - [Thread.current]).each(&:kill).each { |it| it.join(5) }
    def fillers = Array.new(20) { |number| File.join(ENV.fetch("PROFILER_CONTROL"), "filler.\#{number}") }
    def fill = (fillers.each { |path| File.write(path, "") } rescue Errno::ENOSPC)
    def empty = fillers.each { |path| File.delete(path) if File.exist?(path) }
    def changed = File.rename(File.join(ENV.fetch("BOX"), "go"), File.join(ENV.fetch("BOX"), "gone"))
  RUBY

  transitions.each do |what, (code, stays)|
    it "answers after #{what}", small_disk: what.include?("full disk") do
      again = { "AGAIN" => "#{start}\n#{changing}\nchanged\nwait_for_end" }
      live(<<~RUBY, env: again) do |pid|
        #{changing}
        Process.setrlimit(:NOFILE, 64)
        ready
        sleep 0.01 until File.exist?(File.join(ENV.fetch("BOX"), "go"))
        #{code}
        changed
        wait_for_end
      RUBY
        client = Profiler::Control::Client.new(socket_of(pid))
        client.ask(do: "start", bound: true)
        File.write("#{box}/go", "")
        wait_until { File.exist?("#{box}/gone") }
        expect(threads_of(pid).keys).to include("main")
        running = ask(pid, do: "sessions").first.fetch("sessions")
        expect(running.size).to eq(stays ? 1 : 0)
        stays ? expect(client.ask(do: "stop").last.bytesize).to(be > 100) : client.close
      end
    end
  end

  # A call that waits on a socket ends early as a process continues, also without a handler.
  it "keeps a client that is silent after the process was stopped and continued" do
    live("ready; wait_for_end") do |pid|
      client = Profiler::Control::Client.new(socket_of(pid))
      client.ask(do: "start", bound: true)
      silent = Socket.unix(socket_of(pid))
      Process.kill(:STOP, pid)
      sleep 0.2
      Process.kill(:CONT, pid)
      expect(silent.wait_readable(30)).to eq(silent) # it never sent a request, so its time is over
      expect(silent.read).to eq("")
      expect(client.ask(do: "stop").last.bytesize).to be > 100
    ensure
      client&.close
    end
  end

  it "ends the connections that wait for an answer when it closes", :timed do
    result = live(<<~RUBY) do |pid|
      threads = -> { Dir.children("/proc/self/task").size }
      socket = Profiler::Control.current
      GC.disable # or another thread would answer
      Thread.list.grep(Profiler.const_get(:BackgroundThread)).each { |thread| thread.kill.join }
      before = threads.call
      ready
      sleep 0.01 until threads.call > before
      socket.close
      100.times { threads.call < before ? break : sleep(0.05) }
      puts threads.call < before
      wait_for_end
    RUBY
      client = Socket.unix(socket_of(pid))
      client.puts('{"do":"sessions"}')
      expect(client.wait_readable(20)).to eq(client)
      expect(client.read).to eq("")
    ensure
      client&.close
    end
    expect(result.out).to eq("true\n")
  end

  it "touches no file and no socket of an app that closed all descriptors" do
    result = live(<<~RUBY) do |pid|
      # One that has a session, and waits for an answer meanwhile.
      client = Profiler::Control::Client.new(Profiler.control.path)
      client.ask(do: "start", bound: true)
      #{close_all}
      pairs = Array.new(8) { Socket.pair(:UNIX, :STREAM) }
      files = Array.new(8) { |i| File.open(File.join(ENV.fetch("BOX"), "precious.\#{i}"), "w+") }
      servers = Array.new(8) { |i| UNIXServer.new(File.join(ENV.fetch("BOX"), "server.\#{i}")) }
      ready
      wait_for_end
      clients = servers.map { |it| Socket.unix(it.local_address.unix_path) }
      taken = servers.map { |it| it.accept_nonblock(exception: false) }
      p taken.count(:wait_readable)
      p pairs.flatten.map { |it| it.read_nonblock(1, exception: false) }.uniq
      p files.map { |it| File.size(it.path) }.uniq, files.all? { |it| it.stat.file? }
    RUBY
      # The first is accepted by the old socket, and makes the process open another one.
      expect(Array.new(3) { threads_of(pid).keys }).to all(include("main"))
      expect(profiler_of("ps").out).to include(pid.to_s)
    end
    expect(result.out).to eq("0\n[:wait_readable]\n[0]\ntrue\n")
  end

  it "names methods in a process that has no descriptor left" do
    live(<<~RUBY) do |pid|
      class Deep; def wait = (sleep 0.01 until over?); end
      deep = Deep.new
      Process.setrlimit(:NOFILE, 64)
      files = []
      begin
        loop { files << File.open("/dev/null") }
      rescue Errno::EMFILE
        files.pop.close
      end
      ready
      deep.wait
    RUBY
      _, bytes = ask(pid, do: "dump", form: "json")
      expect(JSON.parse(bytes)).to include("named" => true)
      expect(bytes).to include("Deep#wait")
      expect(ask(pid, do: "start").first).to include("session" => 1)
    end
  end

  it "restores the signal when it closes, and also calls the app's own trap" do
    result = live_program("live/trapped") { |pid| expect(ask(pid, do: "who").first).to include("pid" => pid) }
    expect(result.out).to eq("1\n1\nSIGQUIT\n")
    expect(result.err.scan("Process ").size).to eq(1)
  end

  it "prints a dump also at a signal that the app traps later, and shows it the signal as it is without that" do
    result = live_program("live/late_traps") { |pid| expect(ask(pid, do: "who").first).to include("pid" => pid) }
    expect(result.out).to eq(%(["DEFAULT", Proc, Proc, ArgumentError, "DEFAULT"]\n[2, 2, 3]\n))
    expect(result.err.scan(/^Process /).size).to eq(3)
  end

  it "prints a dump at the signal after an exec that failed, after a new control, and in a forked child" do
    parent = nil
    result = live(<<~RUBY) { |pid| ask(parent = pid, do: "who") }
      ready
      wait_for_end
      print_dump = -> { Process.kill(:USR2, $$); sleep 0.5 }
      Profiler.control(dump_signal: "USR2")
      exec("/no/such/program") rescue nil
      print_dump.call
      Profiler.control.close
      Profiler.control(dump_signal: "USR2")
      print_dump.call
      Process.wait(fork { print_dump.call; exit!(0) })
    RUBY
    expect(result.err.scan(/^Process (\d+)/).flatten.map { |it| Integer(it, 10) }).to match([parent, parent, satisfy { |it| it != parent }])
  end
end
