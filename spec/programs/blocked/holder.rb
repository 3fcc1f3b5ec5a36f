# frozen_string_literal: true

# A thread that waits in C functions without releasing the GVL, and computes a little in between. The functions keep account of
# their own time (blocks.c). Prints that beside what the profile says of the thread, in ns.
#
#   KINDS    the functions, separated by commas
#   PLACE    main, thread, fiber; or new: just after a thread was made, which has not had a turn yet
#   WANTING  the number of threads that want the GVL all the time
#   MODE     of the session, or none
require "json"
require "blocks"
require "profiler"

RANDOM = Random.new(Integer(ENV.fetch("SEED")))
KINDS = ENV.fetch("KINDS").split(",")
PLACE = ENV.fetch("PLACE", "main")
MODE = ENV.fetch("MODE").split(",").map(&:to_sym)
OPTIONS = { mode: MODE, interval: Integer(ENV.fetch("INTERVAL", "1000")), engine: ENV["ENGINE"]&.to_sym }.freeze
ROUNDS = Integer(ENV.fetch("ROUNDS", "36"))

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def compute(milliseconds)
  till = cpu_ns + (milliseconds * 1_000_000).to_i
  10.times { |number| number.to_s } while cpu_ns < till
end

def block(kind)
  Blocks.public_send(kind, RANDOM.rand(10..60)) { compute(0.5) }
rescue RuntimeError
  nil
end

# The clocks of the thread that blocks, around all of it.
def work
  born = [now, cpu_ns]
  ROUNDS.times do |round|
    compute(RANDOM.rand(0.2..2.0))
    made = Thread.new { compute(0.1) } if PLACE == "new"
    block(KINDS[round % KINDS.size])
    made&.join
  end
  [now, cpu_ns].zip(born).map { |after, before| after - before }
end

def run
  case PLACE
  when "thread" then Thread.new { work << Thread.current.native_thread_id }.value
  when "fiber" then Fiber.new { work }.resume + [Thread.current.native_thread_id]
  else work << Thread.current.native_thread_id
  end
end

def wanting
  Array.new(Integer(ENV.fetch("WANTING", "0"))) do
    Thread.new { loop { sleep(0.001).then { compute(0.02) } } }
  end
end

def sums(rows, weight)
  Blocks.waited.to_h { |kind, _ns| [kind, rows.select { |row| row.frames.any? { |frame| frame.name == "Blocks.#{kind}" } }.sum(&weight)] }
end

threads = wanting
sleep 0.01 until threads.all?(&:stop?)
if MODE == [:none]
  run
  puts JSON.generate(waited: Blocks.waited, early: Blocks.early)
  exit
end

life = cpu = native = nil
profile = Profiler.run(**OPTIONS) { life, cpu, native = run }
own = profile.samples.select { |row| row.thread_id == native }
puts JSON.generate(
  took: Blocks.took, waited: Blocks.waited, early: Blocks.early, life: life, cpu: cpu,
  seen: sums(own.reject { |row| row.state == :running }, :wall), blocked: sums(own.select { |row| row.state == :blocked }, :wall),
  wall: own.sum(&:wall), parts: own.group_by(&:state).transform_values { |rows| rows.sum(&:wall) },
  blame: sums(profile.samples, :gvl_blame), gvl_wait: profile.samples.sum(&:gvl_wait), stats: profile.stats
)
