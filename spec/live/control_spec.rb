# frozen_string_literal: true

require "socket"
require_relative "../support/live"
require_relative "../support/other_user"

RSpec.describe "The control socket" do
  include_context "with a live program"
  include OtherUser

  it "exists only on request, and only for its user" do
    expect(ruby_child("-e", "require 'profiler'; Profiler.run { }", env: environment)).to have_attributes(err: "")
    expect(File).not_to exist(control)
    live("ready; wait_for_end") do |pid|
      expect([control, socket_of(pid)].map { |it| File.stat(it).mode.to_s(8)[-3..] }).to eq(%w[700 600])
    end
    expect(Dir.children(control)).to be_empty
  end

  it "is there beside a session for the life of the process, unless it is switched off" do
    code = 'require "profiler"; Profiler.continuous { }; p Profiler::Control.current&.path; Profiler::Continuous.current.stop'
    expect(ruby_child("-e", code, env: environment).out).to start_with("\"#{control}/")
    expect(ruby_child("-e", code, env: { "PROFILER_CONTROL" => "0" }).out).to eq("nil\n")
    Dir.rmdir(control)
    File.write(control, "")
    result = ruby_child("-e", code, env: environment)
    expect(result).to have_attributes(out: "nil\n", err: /\A\[profiler\] no control socket was opened: .* is not a private directory of this user/)
  end

  it "has no thread that wakes up by itself" do
    live("ready; wait_for_end") do |pid|
      threads = nil
      # A thread names itself once it runs, and then goes to sleep.
      wait_until do
        threads = Dir["/proc/#{pid}/task/*"].to_h { |it| [File.read("#{it}/comm").chomp, it] }
        threads.keys.grep(/profiler/).sort == ["profiler contro", "profiler live"]
      end
      sleep 0.5
      switches = -> { threads.sum { |name, task| name == File.basename(RbConfig.ruby) ? 0 : File.read("#{task}/status")[/^voluntary_ctxt_switches:\s*(\d+)/, 1].to_i } }
      before = switches.call
      sleep 1
      expect(switches.call).to eq(before)
    end
  end

  it "is listed with its process" do
    live("ready; named('w') { sleep }; Profiler.start; wait_for_end") do |pid|
      who = nil
      all = -> { JSON.parse(profiler_of("ps", "--json").out, symbolize_names: true) }
      wait_until { (who = all.call.find { |process| process[:pid] == pid })[:sessions] == 1 }
      expect(who).to include(pid: pid, ruby: RUBY_DESCRIPTION, threads: 2, age_s: be_between(0, 60), program: start_with(RbConfig.ruby))
      expect(profiler_of("ps").out).to match(/^ *#{pid} +\d+ s +2 +1 +#{RUBY_VERSION}/)
    end
  end

  it "takes away what processes that were killed left" do
    killed = ruby_child("-e", "#{start}; Process.kill(:KILL, $$)", env: environment).status.pid
    expect(Dir.children(control)).to eq(["#{killed}.sock"])
    # Root sees the processes of all users, so there may be others.
    expect(profiler_of("ps")).to have_attributes(out: satisfy { |out| !out.match?(/^ *#{killed} /) }, status: be_success)
    expect(Dir.children(control)).to be_empty
  end

  it "takes away what a killed worker left, as the next one starts" do
    result = live(<<~'RUBY') { |pid| expect(ask(pid, do: "who").first).to include("pid" => pid) }
      path_of = ->(pid) { Profiler.control.path.sub($$.to_s, pid.to_s) }
      worker = -> { fork { sleep }.tap { |pid| sleep 0.01 until File.socket?(path_of.call(pid)) } }
      end_of = ->(pid, signal) { Process.kill(signal, pid); Process.wait(pid) }
      killed = worker.call
      end_of.call(killed, :KILL)
      print File.socket?(path_of.call(killed))
      second = worker.call
      puts File.socket?(path_of.call(killed)), File.socket?(Profiler.control.path)
      end_of.call(second, :TERM)
      ready
      wait_for_end
    RUBY
    expect(result.out).to eq("truefalse\ntrue\n")
  end

  it "is where its user looks, in children that dropped their privileges" do
    skip "only root can drop them" unless Process.uid.zero?
    live(<<~RUBY, env: { "PROFILER_CONTROL" => "1" }) do |_pid|
      Profiler.control.close
      Profiler.control(directory: File.join(ENV.fetch("BOX"), "control"))
      child = fork do
        fork_in = -> { Process.wait(fork { File.write(File.join(ENV.fetch("BOX"), "path"), Profiler.control.path) }) }
        Dir.chdir("/")
        File.chmod(0o777, ENV.fetch("BOX"))
        Process::UID.change_privilege(65_534)
        fork_in.call
      end
      Process.wait(child)
      ready
      wait_for_end
    RUBY
      expect(File.read("#{box}/path")).to start_with("/tmp/profiler-65534/")
    end
  end

  it "refuses a directory that others may enter" do
    Dir.mkdir(control, 0o755)
    code = 'require "profiler"; Profiler.control rescue puts "#{$!.class}: #{$!.message}"'
    expect(ruby_child("-e", code, env: environment).out).to match(/\AProfiler::Error: #{control} is not a private directory of this user/)
    File.rename(control, "#{control}.other")
    File.symlink("#{control}.other", control)
    expect(ruby_child("-e", code, env: environment).out).to match(/\AProfiler::Error: #{control} is not a private directory of this user/)
  end

  it "refuses a directory of another user, even as root" do
    skip "only root can make one" unless Process.uid.zero?
    Dir.mkdir(control, 0o700)
    File.chown(65_534, nil, control)
    code = 'require "profiler"; Profiler.control rescue puts "#{$!.class}: #{$!.message}"'
    expect(ruby_child("-e", code, env: environment).out).to match(/\AProfiler::Error: #{control} is not a private directory of this user/)
    expect(Dir.children(control)).to be_empty
  end

  it "does not disturb a recording if the socket cannot be opened" do
    File.write(control, "")
    env = environment.merge("PROFILER_OUT" => File.join(box, "it.pb.gz"), "PROFILER_QUIET" => "1")
    expect(ruby_child("-rprofiler/autoload", "-e", "1", env: env).err).to match(/\A\[profiler\] no control socket was opened: .*\n\z/)
    expect(File).to exist("#{box}/it.pb.gz")
  end

  # Root asks processes of others, which may say anything.
  it "lets no process write to the terminal of who asks" do
    Dir.mkdir(control, 0o700)
    path = "#{control}/1.sock"
    server = UNIXServer.new(path)
    talking = Thread.new do
      3.times do
        client = server.accept
        body = "Process 1\e]0;mine\a\n"
        who = { pid: 1, program: "\e[2J\nx", ruby: "ruby 3.4.1\e[0m", age_s: 1, threads: 1, sessions: 0 }
        case client.gets
        when /who/ then client.puts(JSON.generate(who))
        when /dump/ then client.write("{\"bytes\":#{body.bytesize}}\n#{body}")
        else client.puts('{"error":"\\u001b[31mred"}')
        end
        client.close
      end
    end
    said = [["dump", path], ["start", path], ["ps"]].map { |command| profiler_of(*command).then { |it| it.out + it.err } }
    expect(said).to match([/\AProcess 1\?\]0;mine\?\n\z/, /\?\[31mred/, /\?\[2J x/])
    expect(said.join).not_to include("\e")
    talking.join
  end

  # Any user can listen on a socket that root finds.
  it "is asked with a deadline and a bound, whatever answers" do
    answers = {
      1 => ->(client) { client.write("{\"pid\":1,"); sleep }, 2 => ->(client) { loop { client.write(" ") && sleep(0.2) } }, 3 => ->(client) { loop { client.write("x" * 65_536) } },
      4 => ->(client) { client.puts("[1]") }, 5 => ->(client) { client.puts('{"pid":1,"program":"x","ruby":"3","threads":1,"bytes":1000000000000}'); sleep },
      6 => ->(client) { client.puts('{"pid":"1","program":[],"ruby":{},"threads":"many"}') }, 7 => ->(client) { client.puts('{"pid":1,"program":"x","ruby":"3","threads":1,"bytes":"x"}') },
      8 => ->(client) { client.puts("\xff\xfe".b) }, 9 => ->(client) { client.puts('{"error":{"a":[]}}') }, 10 => :deaf,
      11 => ->(client) { client.puts('{"pid":11,"program":"x\\u202ey","ruby":"3","threads":1,"age_s":"old","sessions":[]}') },
      12 => ->(client) { client.puts("#{"[" * 500_000}") }
    }
    Dir.mkdir(control, 0o700)
    servers = answers.map do |number, answer|
      server = Socket.new(:UNIX, :STREAM)
      server.bind(Addrinfo.unix(socket_of(number)))
      server.listen(answer == :deaf ? 0 : 9)
      full = Array.new(4) { Socket.new(:UNIX, :STREAM).tap { |it| it.connect_nonblock(server.local_address) rescue nil } } if answer == :deaf # rubocop:disable Style/RescueModifier
      [server, full, *(Thread.new { loop { Thread.new(server.accept.first) { |client| client.gets && answer.call(client) rescue nil } } } unless answer == :deaf)] # rubocop:disable Style/RescueModifier
    end
    live("ready; wait_for_end") do |pid|
      begun = monotonic
      result = profiler_of("ps")
      expect(monotonic - begun).to be < 20
      expect(result.out.lines.map { |line| line.split.first.to_i } & [*answers.keys, pid]).to contain_exactly(11, pid)
      expect(result.out).to include("x?y")
      expect(result.err.scan(%r{/(\d+)\.sock}).flatten.map(&:to_i)).to contain_exactly(1, 2, 10)
      expect(result.err.lines).to all(match(/\Aprofiler: no answer from/))
      expect(answers.keys.map { |number| profiler_of("dump", "--json", socket_of(number), timeout: 60) }.map { |it| [it.code, it.err.lines.size] }).to all(eq([1, 1]).or(eq([0, 0])))
    end
    servers.flatten.grep(Thread).each(&:kill)
  end

  it "is listed beside one that is stopped" do
    live("ready; wait_for_end") do |pid|
      other = spawn(Child::CLEAN.merge(environment, "BOX" => File.join(box, "other")), RbConfig.ruby, "-I", Child::LIB, "-e", 'require "profiler"; Profiler.control; sleep')
      wait_until { File.socket?(socket_of(other)) }
      Process.kill(:STOP, other)
      result = profiler_of("ps")
      expect(result).to have_attributes(out: include(pid.to_s), err: /no answer from .*\/#{other}\.sock in 3 s: the process may be stopped/, status: be_success)
    ensure
      Process.kill(:KILL, other)
      Process.wait(other)
    end
  end

  it "is waited for ten seconds at a process that is stopped" do
    live("ready; wait_for_end") do |pid|
      Process.kill(:STOP, pid)
      expect(profiler_of("dump", pid).err).to match(/no answer from .* in 10 s: the process may be stopped/)
    ensure
      Process.kill(:CONT, pid)
    end
  end

  it "is a forked child's own, and the parent's stays" do
    live(<<~'RUBY') do |pid|
      child = fork { File.write("#{ENV.fetch("BOX")}/child", $$.to_s); wait_for_end }
      ready
      Process.wait(child)
    RUBY
      child = wait_until { Integer(File.read("#{box}/child"), exception: false) if File.exist?("#{box}/child") }
      wait_until { File.socket?(socket_of(child)) }
      expect([pid, child].map { |it| ask(it, do: "who").first["pid"] }).to eq([pid, child])
      expect(threads_of(child).keys).to eq(["main"])
    end
    expect(Dir.children(control)).to be_empty
  end

  it "closes" do
    result = live(<<~'RUBY') { |pid| expect(File).to exist(socket_of(pid)) }
      ready
      wait_for_end
      it = Profiler.control
      it.close
      puts it.running?, File.exist?(it.path), Profiler::Testing.sessions
      puts Profiler.control.running?
    RUBY
    expect(result.out).to eq("false\nfalse\n0\ntrue\n")
  end

  it "answers nonsense with an error, and bounds what it takes" do
    live("ready; wait_for_end") do |pid|
      answers = ["\n", "{}\n", "[[[[[\n", "\xff\xfe\n".b, "{\"do\":\"eval\",\"code\":\"exit\"}\n", "#{"[" * 60_000}\n"].map do |text|
        Socket.unix(socket_of(pid)) { |socket| socket.write(text) && socket.gets }
      end
      expect(answers).to all(start_with('{"error":"'))
      long = Socket.unix(socket_of(pid)) do |socket|
        (1_000.times { socket.write("x" * 1_000_000) } rescue $!.class) # rubocop:disable Style/RescueModifier
      end
      expect([Errno::EPIPE, Errno::ECONNRESET]).to include(long)
      expect(ask(pid, do: "who").first).to include("pid" => pid)
    end
  end

  it "serves some at once, and drops those that are slow" do
    live("ready; wait_for_end") do |pid|
      idle = Array.new(40) { Socket.unix(socket_of(pid)).tap { sleep 0.002 } }
      expect(idle.last.gets).to eq("{\"error\":\"too many connections\"}\n")
      idle.first.write("{\"do\"")
      expect(idle.first.read).to eq("") # after five seconds
      wait_until { ask(pid, do: "who") rescue false } # rubocop:disable Style/RescueModifier
      idle.each(&:close)
    end
  end

  it "serves no other user" do
    live("File.chmod(0711, ENV.fetch('BOX')); ready; wait_for_end") do |pid|
      File.chmod(0o711, control)
      File.chmod(0o666, socket_of(pid))
      code = <<~'RUBY'
        require "socket"
        socket = Socket.unix(ARGV.first)
        socket.puts('{"do":"who"}') rescue nil
        p(socket.gets) rescue p $!.class
      RUBY
      result = other_user_child("-e", code, socket_of(pid))
      expect(["nil\n", "Errno::ECONNRESET\n"]).to include(result.out), result.err
    end
  end

  it "is found in another PID namespace, by its path and by the pid outside" do
    enter = %w[unshare --pid --fork --kill-child --mount-proc]
    skip "no PID namespaces here" unless system(*enter, "true", err: File::NULL)

    code = "#{start}\nready; wait_for_end"
    command_child(*enter, RbConfig.ruby, "-I", Child::LIB, "-e", code, env: environment) do |pid|
      wait_until { File.exist?(File.join(box, "ready")) }
      socket = Dir["#{control}/*.sock"].first
      expect(profiler_of("dump", socket).out).to match(/\AProcess #{File.basename(socket, ".sock")}: .*"main"/m)
      outside = Integer(File.read("/proc/#{pid}/task/#{pid}/children").split.first)
      expect(profiler_of("dump", outside).out.lines.first).to eq(profiler_of("dump", socket).out.lines.first)
      File.write(File.join(box, "over"), "")
    end
  end
end
