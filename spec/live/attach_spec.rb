# frozen_string_literal: true

require "json"
require_relative "../support/attach"
require_relative "../support/other_user"

RSpec.describe "profiler attach" do
  include_context "with a process that nobody prepared"
  include OtherUser

  # What a process may do when it is attached to, and what its main thread is then seen in.
  {
    "sleeps" => ["sleep", /sleep/],
    "runs" => ["loop { 100.times { |number| number.to_s } }", /loop|times|to_s/],
    "waits for IO" => ["PIPE = IO.pipe; IO.select([PIPE.first])", /select/],
    "waits for a queue" => ["Thread.new { sleep }; Queue.new.pop", /pop/],
    "matches for ever" => ["/\\A(\\w+-?)+\\1?\\z/.match?(\"#{"a" * 44}!\")", /match/],
    "runs beside a thread that reads" => ["require 'socket'; one, OTHER = UNIXSocket.pair; one.fcntl(4, 0); Thread.new { one.sysread(1) }; " \
                                          "loop { Array.new(1_000) { |number| number.to_s } }", /Array|new|to_s/],
    "has many threads" => ["50.times { Thread.new { sleep } }; Thread.new { loop { 1.to_s } }; sleep", /sleep/]
  }.each do |what, (code, place)|
    it "attaches to a process that #{what}, and detaches" do
      plain(code) do |pid|
        joined = profiler_child("attach", "--json", pid.to_s, timeout: 180)
        expect(joined).to have_attributes(code: 0, err: "")
        expect(JSON.parse(joined.out)).to include("pid" => pid, "stopped_ns" => all(be < 1_000_000_000).and(be_an(Array)))
        expect(profiler_child("dump", pid.to_s).out).to match(/\AProcess #{pid}: .*"main".*(#{place}|C function)/m) # a name needs Ruby within a second
        expect(profiler_child("detach", pid.to_s)).to have_attributes(code: 0, out: "detached from process #{pid}\n")
        wait_until { threads_of_profiler(pid).empty? } # before Ruby 3.3, threads are kept for a while
        expect(File).not_to exist(socket_of(pid))
      end
    end
  end

  it "attaches to the same process again and again, and each command does so with --attach" do
    target("timed") do |pid|
      3.times do
        expect(profiler_child("attach", pid.to_s)).to have_attributes(code: 0, out: /\Aattached to process #{pid} in /)
        expect(profiler_child("attach", pid.to_s)).to have_attributes(code: 0, err: /has a control socket already/)
        profiler_child("detach", pid.to_s)
      end
      dump = profiler_child("dump", "--attach", pid.to_s)
      expect(dump).to have_attributes(out: start_with("Process #{pid}: "), err: /\Aprofiler: attached to process #{pid} in .*; to detach: profiler detach #{pid}\n\z/)
      expect(profiler_child("top", "--once", "--attach", "--window", "0.5", pid.to_s)).to have_attributes(code: 0, err: "")
      profiler_child("detach", pid.to_s)
      Dir.mktmpdir do |box|
        record = profiler_child("record", "--pid", pid.to_s, "--attach", "--duration", "0.5", "-o", "#{box}/it.pb.gz")
        expect(record).to have_attributes(code: 0, err: /\Aprofiler: attached to process #{pid} .*wrote/m)
        expect(File.size("#{box}/it.pb.gz")).to be_positive
      end
      expect(profiler_child("memory", pid.to_s).out).to start_with("Process #{pid}: ")
    end
  end

  it "loads the profiler beside threads that compute, and leaves no method behind" do
    code = "2.times { Thread.new { loop { 100.times { |number| number.to_s } } } }; " \
           "trap(:USR1) { File.write(ENV.fetch('GO'), RubyVM::InstructionSequence.respond_to?(:load_iseq).to_s) }; sleep"
    plain(code) do |pid|
      expect(profiler_child("attach", pid.to_s, timeout: 180).code).to eq(0)
      Process.kill(:USR1, pid)
      expect(wait_until { File.exist?(go) && File.read(go)[/.+/] }).to eq("false")
    end
  end

  it "waits for no turn of 100 ms of each thread that computes, for each file", :timed do
    plain("4.times { Thread.new { loop { 100.times { |number| number.to_s } } } }; sleep") do |pid|
      joined = profiler_child("attach", "--json", pid.to_s, timeout: 180)
      expect(joined.code).to eq(0), joined.err
      expect(JSON.parse(joined.out)["seconds"]).to be < 20
    end
  end

  it "leaves no method behind if the thread that loads it is killed meanwhile" do
    code = <<~'RUBY'
      class << RubyVM::InstructionSequence.singleton_class
        def remove_method(*) = (@killed = !@killed) ? Thread.current.kill : super
      end
      trap(:USR1) { File.write(ENV.fetch("GO"), RubyVM::InstructionSequence.respond_to?(:load_iseq).to_s) }
      sleep
    RUBY
    plain(code) do |pid|
      expect(profiler_child("attach", pid.to_s).code).to eq(0)
      Process.kill(:USR1, pid)
      expect(wait_until { File.exist?(go) && File.read(go)[/.+/] }).to eq("false")
    end
  end

  it "loads the rest without a warning if the thread that loads it was killed meanwhile" do
    code = <<~'RUBY'
      $stderr.reopen(ENV.fetch("GO"), "w")
      Thread.new do
        sleep 0.0001 until defined?(Profiler::HOME)
        (Thread.list - [Thread.current, Thread.main]).each(&:kill)
      end
      sleep
    RUBY
    plain(code) do |pid|
      expect(profiler_child("attach", pid.to_s)).to have_attributes(code: 1, err: /the thread that loads the profiler was ended/)
      expect(profiler_child("attach", pid.to_s)).to have_attributes(code: 0, err: "")
      expect(File.read(go)).to eq("")
    end
  end

  it "keeps a program's own way to load files" do
    code = "def (RubyVM::InstructionSequence).load_iseq(path) = (@asked = path; nil); " \
           "trap(:USR1) { File.write(ENV.fetch('GO'), RubyVM::InstructionSequence.instance_variable_get(:@asked)) }; sleep"
    plain(code) do |pid|
      expect(profiler_child("attach", pid.to_s).code).to eq(0)
      Process.kill(:USR1, pid)
      expect(wait_until { File.exist?(go) && File.read(go)[/.+/] }).to end_with(".rb")
    end
  end

  it "is suggested when a process has no socket" do
    plain("sleep") do |pid|
      expect(profiler_child("record", "--pid", pid.to_s)).to have_attributes(code: 1, err: /pass --attach, or run profiler attach #{pid}: it then loads the profiler/)
    end
  end

  it "lets no program see an interruption" do
    target("timed", "io") do |pid|
      6.times do
        expect(profiler_child("attach", pid.to_s).code).to eq(0)
        expect(profiler_child("detach", pid.to_s).code).to eq(0)
      end
    end
  end

  it "leaves no descriptor, thread or handler behind" do
    plain("trap(:USR1) { }; sleep") do |pid|
      sleep 2
      seen = lambda do
        status = File.read("/proc/#{pid}/status")
        [Dir.children("/proc/#{pid}/fd").size, Dir.children("/proc/#{pid}/task").size, status[/^TracerPid:.*/], status[/^SigBlk:.*/], status[/^SigIgn:.*/]]
      end
      before = seen.call
      2.times do
        profiler_child("attach", pid.to_s)
        profiler_child("detach", pid.to_s)
      end
      wait_until { seen.call == before }
    end
  end

  it "leaves a thread that is never woken, if there was a session" do
    plain("sleep") do |pid|
      Dir.mktmpdir { |directory| profiler_child("record", "--attach", "--pid", pid.to_s, "--duration", "0.2", "-q", "-o", "#{directory}/it.pb.gz") }
      profiler_child("detach", pid.to_s)
      wait_until { (threads_of_profiler(pid) - ["profiler", "profiler tick"]).empty? }
      sleep 1.5 # it looks for records a last time
      switches = -> { of_threads(pid, "status").sum { |status| status[/^voluntary_ctxt_switches:\s*(\d+)/, 1].to_i } }
      before = switches.call
      sleep 1
      expect(switches.call).to eq(before)
    end
  end

  it "knows no more of a wait that began before than that it lasts at least so long", if: RUBY_VERSION >= "3.3" do
    plain("Thread.new { Thread.current.name = 'old'; sleep }; sleep") do |pid|
      threads = JSON.parse(profiler_child("dump", "--attach", "--json", pid.to_s).out).fetch("threads")
      expect(threads.find { |it| it["name"] == "old" }).to include("state" => "waiting", "at_least" => true)
    end
  end

  it "gives a forked child a socket of its own" do
    plain("child = nil; Thread.new { sleep 0.05 until File.exist?(ENV['GO']); child = fork { sleep }; File.write(\"\#{ENV['GO']}.child\", child.to_s) }; $stdin.read; " \
          "Process.kill(:KILL, child)") do |pid|
      profiler_child("attach", pid.to_s)
      File.write(go, "")
      child = wait_until { Integer(File.read("#{go}.child"), exception: false) if File.exist?("#{go}.child") }
      wait_until { File.socket?(socket_of(child)) }
      expect(profiler_child("dump", child.to_s).out).to start_with("Process #{child}: ")
      expect(profiler_child("detach", child.to_s).code).to eq(0)
    end
  end

  it "attaches to a forked child of a process from which it has detached" do
    plain("child = fork { sleep }; File.write(ENV['GO'], child.to_s); $stdin.read; Process.kill(:KILL, child)") do |pid|
      child = Integer(wait_until { File.exist?(go) && File.read(go)[/\d+/] })
      expect([pid, child].map { |it| profiler_child("attach", it.to_s).code }).to eq([0, 0])
      expect([pid, child].map { |it| profiler_child("detach", it.to_s).code }).to eq([0, 0])
    end
  end

  it "withdraws from a process that runs no Ruby code" do
    plain("sleep 2; $stdout.sync = true; (3**19_000_000).to_s.size; sleep") do |pid|
      sleep 2.5
      result = profiler_child("attach", "--wait", "1", pid.to_s)
      # On a fast machine it had ended to compute, or ends that while the profiler is loaded; on a slow one it had not begun.
      next if result.code.zero? || result.err.match?(/it has begun to load the profiler|the thread that loads the profiler was ended/)

      expect(result.err).to match(/it did not answer within 1 s, because it runs no Ruby code .* the request was withdrawn/)
      expect(File.read("/proc/#{pid}/status")).to match(/^TracerPid:\s*0$/)
    end
  end

  it "harms no process when it is killed" do
    target("timed", "io") do |pid|
      12.times do |number|
        attacher = spawn(Child::CLEAN, RbConfig.ruby, Child::EXE, "attach", pid.to_s, %i[out err] => File::NULL)
        sleep(0.1 + (number * 0.03))
        Process.kill(:KILL, attacher)
        Process.wait(attacher)
      end
      wait_until { profiler_child("attach", pid.to_s).code.zero? }
      expect(of_threads(pid, "status").map { |status| status[/^State:\s*(\S)/, 1] }).not_to include("t", "T")
    end
  end

  it "says so if the process ends between two looks at it" do
    plain("sleep") do |pid|
      result = ruby_child("-e", <<~'RUBY', pid.to_s)
        require "profiler"
        require "profiler/attach"
        Profiler::Attach::Target.prepend(Module.new { def age = raise(Errno::ENOENT, "/proc/#{pid}/stat") })
        Profiler::Attach.join(Integer(ARGV.first))
      RUBY
      expect(result.err).to include("cannot attach to process #{pid}: it has ended (Profiler::Attach::Refused)")
    end
  end

  it "ends well when the process is killed meanwhile" do
    3.times do |number|
      plain("sleep", status: nil) do |pid|
        sleep 2
        attacher = spawn(Child::CLEAN, RbConfig.ruby, Child::EXE, "attach", pid.to_s, %i[out err] => File::NULL)
        sleep(0.1 + (number * 0.1))
        Process.kill(:KILL, pid)
        expect(Process.wait2(attacher).last.exitstatus).to eq(0).or eq(1)
      end
    end
  end

  describe "refuses" do
    def refusal(pid, **options) = profiler_child("attach", "--wait", "1", pid.to_s, **options).then { |it| [it.code, it.err] }

    it "something that is not a process, or not Ruby" do
      expect(refusal(2**22)).to eq([1, "profiler: cannot attach to process #{2**22}: there is no such process\n"])
      sleeper = spawn("sleep", "60")
      sleep 2.1
      expect(refusal(sleeper)).to match([1, /\Aprofiler: cannot attach to process #{sleeper}: (it does not run Ruby|Ruby is still starting in it)/])
      expect(profiler_child("attach", "x")).to have_attributes(code: 2, err: /\"x\" is not a PID/)
      expect(profiler_child("attach", "--wait", "0", "1")).to have_attributes(code: 2, err: /--wait "0" is not a number of seconds/)
    ensure
      Process.kill(:KILL, sleeper)
      Process.wait(sleeper)
    end

    it "a process that has ended, is stopped or is traced" do
      ended = spawn("true")
      wait_until { File.read("/proc/#{ended}/stat").include?(") Z") }
      expect(refusal(ended)).to match([1, /it has ended, and its parent has not waited for it yet/])
      Process.wait(ended)
      plain("sleep") do |pid|
        Process.kill(:STOP, pid)
        wait_until { File.read("/proc/#{pid}/stat").include?(") T") }
        expect(refusal(pid)).to match([1, /it is stopped: continue it first \(kill -CONT #{pid}\)/])
        Process.kill(:CONT, pid)
      end
    end

    it "a process that is traced" do
      skip "needs gdb" unless system("command -v gdb > /dev/null")

      plain("sleep") do |pid|
        tracer = IO.popen(["gdb", "-q", "-p", pid.to_s], "r+", err: File::NULL)
        wait_until { File.read("/proc/#{pid}/status").match?(/^TracerPid:\s*[1-9]/) }
        tracer.puts("continue")
        wait_until { !File.read("/proc/#{pid}/stat").include?(") t") }
        expect(refusal(pid)).to match([1, /its thread \d+ is being traced by process #{tracer.pid} \(gdb\): end that one first/])
      ensure
        Process.kill(:KILL, tracer.pid)
        tracer.close
      end
    end

    it "a process that has only just started, until it is old enough" do
      code = <<~'RUBY'
        require "profiler"
        require "profiler/attach"
        pid = spawn(RbConfig.ruby, "-e", "sleep")
        begin
          Profiler::Attach.join(pid, patience: 0.1)
        rescue Profiler::Attach::Refused
          puts $!.message
        end
        puts Profiler::Attach.join(pid).stops.size.positive?
        Process.kill(:KILL, pid)
      RUBY
      expect(ruby_child("-e", code).out).to match(/\Acannot attach to process \d+: it has only just started\ntrue\n\z/)
    end

    it "another user's process" do
      plain("sleep") do |pid|
        sleep 2
        result = other_user_child("EXE", "attach", pid.to_s)
        expect(result).to have_attributes(code: 1, err: /it belongs to root: run this command as root \(sudo profiler attach #{pid}\)$/)
      end
    end

    it "a process that is not dumpable, to all but root" do
      code = "require 'fiddle'; Fiddle::Function.new(Fiddle.dlopen(nil)['prctl'], [Fiddle::TYPE_INT] + [Fiddle::TYPE_LONG] * 4, Fiddle::TYPE_INT)" \
             ".call(4, 0, 0, 0, 0); sleep"
      result = other_user_child("-e", "pid = spawn(RbConfig.ruby, '-e', #{code.inspect}, out: File::NULL); sleep 2.2; " \
                                      "system(RbConfig.ruby, ARGV[0], 'attach', pid.to_s); Process.kill(:KILL, pid)", "EXE")
      expect(result.err).to match(/it is not dumpable, so only root can trace it/)
    end

    it "to detach from a process that has no socket, or is another user's" do
      plain("sleep") do |pid|
        expect(profiler_child("detach", pid.to_s).err).to eq("profiler: process #{pid} has no control socket here: nothing to detach from\n")
        expect(other_user_child("EXE", "dump", pid.to_s).err)
          .to eq("profiler: process #{pid} has no control socket here that this user can see, as it belongs to root: run this command as root\n")
      end
    end

    it "to detach from a process that has opened the socket itself" do
      plain("$LOAD_PATH << ENV['LIB']; require 'profiler'; Profiler.control(directory: ENV['BOX']); File.write(ENV['GO'], ''); sleep",
            env: { "BOX" => "#{File.dirname(go)}/control", "LIB" => Child::LIB }) do |pid|
        wait_until { File.exist?(go) }
        expect(profiler_child("detach", "#{File.dirname(go)}/control/#{pid}.sock").err).to match(/profiler attach did not open this control socket/)
      end
    end
  end
end
