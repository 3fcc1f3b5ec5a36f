# frozen_string_literal: true

# A program that loads nothing of the profiler, and checks itself while it is attached to: each wait has to last as long as it was
# asked to, return what was sent, and raise nothing. It ends when its stdin does, prints how much it did, and fails if anything
# was wrong.
#
#   ruby spec/programs/attach/target.rb KIND...      (KINDS below)

require "socket"
require "zlib"

WRONG = Queue.new
COUNTS = Hash.new(0)
KEPT = [] # rubocop:disable Style/MutableConstant -- objects that must not be collected

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def wrong(text)
  WRONG << text
end

# A wait that has to last so long at least: an early end is an interruption that the program can see.
def lasts(seconds, what)
  begun = now
  yield
  wrong("#{what} ended after #{(now - begun).round(4)} of #{seconds} s") if now - begun < seconds - 0.0005
end

def forever(name, &work)
  Thread.new do
    loop do
      work.call
      COUNTS[name] += 1
    end
  rescue Exception => e # rubocop:disable Lint/RescueException -- that is what is looked for
    wrong("#{name}: #{e.class}: #{e.message} #{e.backtrace&.first}")
  end
end

def echo(name, reader, writer, by)
  sent = Random.bytes(16)
  got = Thread.new { by == :partial ? reader.readpartial(16) : reader.sysread(16) }
  sleep 0.002
  writer.syswrite(sent)
  wrong("#{name} got other bytes") unless got.value == sent
end

KINDS = {
  "sleep" => -> { Thread.main },
  "busy" => -> { forever("busy") { 1_000.times { |number| number.to_s } } },
  "timed" => lambda {
    reader, writer = IO.pipe
    KEPT << writer # or it would be closed
    forever("sleep") { lasts(0.01, "sleep") { sleep 0.01 } }
    forever("select") { lasts(0.01, "select") { IO.select([reader], nil, nil, 0.01) } }
    forever("wait_readable") { lasts(0.01, "wait_readable") { reader.wait_readable(0.01) } }
    forever("join") { lasts(0.005, "join") { Thread.new { sleep 0.01 }.join(0.005) } }
    mutex = Mutex.new
    condition = ConditionVariable.new
    forever("condition") { mutex.synchronize { lasts(0.01, "condition") { condition.wait(mutex, 0.01) } } }
    queue = Queue.new
    forever("queue") { wrong("queue") unless Thread.new { sleep(0.003) && queue.push(7) } && queue.pop == 7 }
  },
  "io" => lambda {
    pipe = IO.pipe
    forever("sysread") { echo("sysread", *pipe, :sys) }
    pair = UNIXSocket.pair
    forever("socket") { echo("socket", *pair, :partial) }
    server = TCPServer.new("127.0.0.1", 0)
    forever("accept") do
      accepted = Thread.new { server.accept }
      sleep 0.002
      client = TCPSocket.new("127.0.0.1", server.addr[1])
      client << "x"
      socket = accepted.value
      wrong("accept") unless socket.read(1) == "x"
      [client, socket].each(&:close)
    end
  },
  "zlib" => -> { 2.times { forever("zlib") { wrong("zlib") unless Zlib.inflate(Zlib.deflate("a" * 200_000)).size == 200_000 } } },
  "processes" => lambda {
    forever("system") { wrong("system") unless system("true") }
    forever("popen") { wrong("popen") unless IO.popen(%w[echo x], &:read) == "x\n" }
    forever("fork") do
      pid = fork { exit!(7) }
      wrong("fork") unless Process.wait2(pid).last.exitstatus == 7
    end
  },
  "gc" => -> { forever("gc") { Array.new(1_000) { +"x" } && GC.start } },
  "gc_stress" => lambda {
    forever("gc_stress") { lasts(0.01, "sleep") { sleep 0.01 } }
    GC.stress = true
  },
  "finalizers" => -> { forever("finalizers") { 100.times { ObjectSpace.define_finalizer(Object.new, proc {}) } && GC.start } },
  "compact" => -> { forever("compact") { GC.respond_to?(:compact) && GC.compact } },
  "loading" => lambda {
    file = "/tmp/profiler-attach-target-#{Process.pid}.rb"
    at_exit { File.delete(file) if File.exist?(file) }
    File.write(file, "#{Array.new(300) { |number| "def m#{number}(a, b = 1) = a.to_s + b.to_s" }.join("\n")}\n")
    forever("loading") { load(file, true) }
  },
  "threads" => -> { forever("threads") { Array.new(20) { |number| Thread.new { number * 2 } }.each_with_index { |it, number| wrong("threads") unless it.value == number * 2 } } },
  "deep" => lambda {
    def self.down(depth) = depth.zero? ? Array.new(20, &:to_s) : down(depth - 1)
    forever("deep") { down(3_000) }
  }
}.freeze

ARGV.each { |kind| KINDS.fetch(kind).call }
puts "ready"
$stdout.flush
$stdin.read
problems = Array.new(WRONG.size) { WRONG.pop }
puts COUNTS.map { |name, count| "#{name} #{count}" }.join(", ")
abort "WRONG #{problems.tally.map { |text, count| "#{text} (#{count})" }.first(20).join("; ")}" if problems.any?
exit!(0)
