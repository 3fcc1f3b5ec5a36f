# frozen_string_literal: true

require_relative "../support/live"

RSpec.describe "A dump of a running process" do
  include_context "with a live program"

  HOOKED = RUBY_VERSION >= "3.3"

  it "says where each thread is, what it does, and its labels" do
    live(<<~'RUBY') do |pid|
      def burn = (10.times { |number| number.to_s } until over?)
      queue = Queue.new
      named("waits") { queue.pop }
      named("sleeps") { Profiler.label(job: "nap") { sleep } }
      named("burns") { burn }
      ready
      wait_for_end
      exit!(0)
    RUBY
      threads = nil
      wait_until do
        threads = threads_of(pid)
        threads.size == 4 && threads.select { |_, it| it[:state] == "waiting" }.keys.sort - %w[main] == %w[sleeps waits]
      end
      expect(threads.keys).to contain_exactly("main", "waits", "sleeps", "burns")
      expect(threads.transform_values { |it| it[:state] }).to include("waits" => "waiting", "sleeps" => "waiting")
      expect(threads.dig("waits", :frames).map { |it| it[:name] }).to start_with("Thread::Queue#pop")
      expect(threads["sleeps"]).to include(labels: [%w[job nap]], has_gvl: false)
      expect(threads.dig("burns", :frames)).to include(include(name: "Object#burn", path: "-e", line: 2))
      expect(threads.dig("waits", :for_ns)).to HOOKED ? be_positive : be_nil
    end
  end

  it "has the stacks of all waiting threads when none runs, whatever they wait for" do
    live(<<~'RUBY') do |pid|
      require "socket"
      def nap = sleep
      def select = IO.select([IO.pipe.first])
      def accept = TCPServer.new("127.0.0.1", 0).accept
      named("selects") { select }
      named("accepts") { accept }
      Thread.new { wait_for_end; exit!(0) }
      ready
      nap
    RUBY
      asleep = { "main" => %w[waiting Object#nap], "selects" => %w[waiting Object#select], "accepts" => %w[waiting Object#accept] }
      leaves = nil
      wait_until do
        leaves = threads_of(pid).slice(*asleep.keys).transform_values { |thread| [thread[:state], thread.dig(:frames, 1, :name)] }
        leaves == asleep
      end
    rescue Child::TimedOut
      expect(leaves).to eq(asleep)
    end
  end

  it "finds who holds the GVL for good, and the process goes on" do
    result = live(<<~'RUBY') do |pid|
      def hog = Profiler::Testing.hog_gvl(4_000)
      named("waits") { sleep 0.001 until over? }
      ready
      hog
      puts "went on"
      wait_for_end
    RUBY
      sleep 0.3
      begun = monotonic
      text = ask(pid, do: "dump", form: "text").last # Ruby may need seconds to start a command
      expect(monotonic - begun).to be < 3
      expect(text.lines[2]).to match(/The GVL is held by thread #{pid} "main"/)
      expect(text).to include("Note: could not acquire the GVL within 1 s")
      expect(text).to match(/^thread #{pid} "main": runs with the GVL\n    .*\n    (Object#)?hog \(-e:2\)\n    <main> \(-e:5\)\n/)
      expect(threads_of(pid).dig("main", :has_gvl)).to be(true)
    end
    expect(result.out).to eq("went on\n")
  end

  it "has the stack of a thread that sleeps in C code with the GVL, and does not wake it", if: HOOKED do
    result = live(<<~'RUBY') do |pid|
      require "fiddle"
      USLEEP = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
      children = -> { Dir["/proc/self/task/*/children"].sum { |path| File.read(path).split.size } }
      trap("CHLD") { puts "a child ended" }
      def stuck(microseconds) = USLEEP.call(microseconds)
      named("waits") { sleep }
      ready
      begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      returned = stuck(4_000_000)
      puts returned, Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun >= 4, children.call
      wait_for_end
    RUBY
      sleep 0.3
      main = threads_of(pid).fetch("main")
      expect(main).to include(state: "blocked", has_gvl: true, missing: nil)
      expect(main[:frames].map { |frame| frame[:name] }).to end_with("stuck", "<main>")
    end
    expect(result.out).to eq("0\ntrue\n0\n")
  end

  it "shows a deadlock, a lock of a file, and a queue that nobody fills" do
    live_program("live/locks") do |pid|
      threads = threads_of(pid)
      names = threads.transform_values { |it| it[:frames].map { |frame| frame[:name] } }
      expect(names["one"]).to include("Thread::Mutex#synchronize", "Object#take")
      expect(names["other"]).to include("Thread::Mutex#synchronize", "Object#take")
      expect(names["file"]).to include("File#flock", "Object#wait_for_file")
      expect(names["queue"]).to include("Thread::Queue#pop", "Object#wait_for_work")
      expect(threads.values_at("one", "other", "file", "queue").map { |it| it[:state] }).to all(eq("waiting"))
    end
  end

  it "interrupts no system call of a thread that waits", if: HOOKED do
    result = live(<<~'RUBY') do |pid|
      require "fiddle"
      POLL = Fiddle::Function.new(Fiddle.dlopen(nil)["poll"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG, Fiddle::TYPE_INT], Fiddle::TYPE_INT)
      ended = 0
      named("polls") { ended += 1 if POLL.call(nil, 0, 5_000).negative? until over? }
      ready
      wait_for_end
      $stdout << ended
      $stdout.flush
      exit!(0)
    RUBY
      sleep 0.1
      100.times { threads_of(pid) }
    end
    expect(result.out).to eq("0")
  end

  it "is printed on stderr at a signal, also while no Ruby code can run" do
    code = 'def hog = Profiler::Testing.hog_gvl(3_000); File.write("#{ENV.fetch("BOX")}/ready", ""); hog'
    result = ruby_child("-rprofiler/autoload", "-e", code, env: environment.merge("PROFILER_DUMP_SIGNAL" => "QUIT")) do |pid|
      wait_until { File.exist?(File.join(box, "ready")) }
      sleep 0.2
      Process.kill(:QUIT, pid)
    end
    expect(result.status).to be_success
    expect(result.err).to match(/\AProcess \d+: .*The GVL is held by.*hog \(-e:1\)/m)
    expect(Dir.children(box)).to contain_exactly("control", "ready")
  end

  it "is printed at a signal that is named after the socket was opened" do
    printed = ""
    live(<<~'RUBY') do |pid|
      $stderr.reopen(File.join(ENV.fetch("BOX"), "printed"))
      Profiler.control(dump_signal: "QUIT")
      ready
      wait_for_end
    RUBY
      Process.kill(:QUIT, pid)
      wait_until { (printed = File.read(in_box("printed"))).include?("Object#wait_for_end") }
    rescue Child::TimedOut
      nil
    end
    expect(printed).to start_with("Process ").and include("Object#wait_for_end")
  end

  it "is repeated until the process ends" do
    watch = nil
    live("ready; wait_for_end") do |pid|
      watch = Thread.new { profiler_of("dump", "--watch", "0.1", "--json", pid) }
      sleep 5
    end
    expect(watch.value).to have_attributes(status: be_success, err: "profiler: the process has ended\n")
    expect(watch.value.out.lines.map { |line| JSON.parse(line).fetch("threads").size }).to all(eq(1)).and have_attributes(size: be > 3)
  end

  it "is refused for something that is not a process, and explains how to reach one" do
    expect(profiler_of("dump", "999999999").err).to eq("profiler: there is no process 999999999\n")
    expect(profiler_of("dump", "x").err).to match(/"x" is neither a process id nor the path of a socket/)
    expect(profiler_of("dump", Process.pid).err).to match(/has no control socket here: start it with PROFILER_CONTROL=1/)
    expect(profiler_of("dump").code).to eq(2)
  end
end
