# frozen_string_literal: true

# A random program of several threads: long, short, dying by exception, killed, idle, working without
# the GVL. Each keeps its own CPU clock; prints what the clocks and what the profile say, by native
# thread (Ruby 3.1 uses those again).
require "json"
require "profiler"
require "fiddle"

RANDOM = Random.new(Integer(ENV.fetch("SEED")))
INTERVAL = Integer(ENV.fetch("INTERVAL", "1000"))
MEMSET = Fiddle::Function.new(Fiddle.dlopen(nil)["memset"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T],
                              Fiddle::TYPE_VOIDP)

def cpu_ns
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
end

def burn(milliseconds)
  till = cpu_ns + (milliseconds * 1_000_000)
  40.times { |number| number.to_s } while cpu_ns < till
end

def burn_without_gvl(milliseconds)
  block = Fiddle.malloc(1 << 20)
  till = cpu_ns + (milliseconds * 1_000_000)
  MEMSET.call(block, 1, 1 << 20) while cpu_ns < till
ensure
  Fiddle.free(block)
end

def live(steps)
  steps.each do |kind, amount|
    case kind
    when :burn then burn(amount)
    when :nogvl then burn_without_gvl(amount)
    when :sleep then sleep(amount / 1000.0)
    when :collect then GC.start
    when :allocate then amount.times { "x" * 100 }
    end
  end
end

def plan(random)
  kinds = %i[burn nogvl sleep collect allocate]
  Array.new(random.rand(1..6)) { [kinds.sample(random: random), random.rand(1..25)] }
end

def stop_time(name, own, born)
  own[name] = [Thread.current.native_thread_id, cpu_ns - born]
end

# The thread's clock stands where its life began: a native thread can be used again.
def spawn_worker(name, steps, ending, own)
  Thread.new do
    born = cpu_ns
    Thread.current.name = name
    Thread.current.report_on_exception = false
    live(steps)
    stop_time(name, own, born)
    case ending
    when :raise then raise "the end of #{name}"
    when :exit then Thread.exit
    when :sleep then sleep
    end
  end
end

own = {}
early = Array.new(RANDOM.rand(0..2)) { |number| ["early#{number}", plan(RANDOM)] }
gate = Queue.new
ready = Queue.new
early.each do |name, steps|
  Thread.new do
    Thread.current.name = name
    burn(3) # before the session: must not be counted
    ready << true
    gate.pop
    born = cpu_ns
    live(steps)
    stop_time(name, own, born)
    sleep if name.end_with?("1")
  end
end
early.size.times { ready.pop }

main_born = nil
profile = Profiler.run(mode: :cpu, interval: INTERVAL) do
  main_born = cpu_ns
  early.size.times { gate << true }
  workers = Array.new(RANDOM.rand(1..5)) do |number|
    ending = %i[return raise exit sleep].sample(random: RANDOM)
    worker = spawn_worker("w#{number}", plan(RANDOM), ending, own)
    live(plan(RANDOM)) if RANDOM.rand < 0.3
    worker
  end
  5.times { |number| spawn_worker("short#{number}", [[:burn, RANDOM.rand(0..2)]], :return, own).join }
  live(plan(RANDOM))
  sleep 0.002 until workers.each_index.all? { |number| own["w#{number}"] }
  sleep 0.002 until early.all? { |name, _| own[name] }
  workers.each_with_index { |worker, number| worker.kill if number.odd? }
  sleep 0.02
  stop_time("main", own, main_born)
end

clocks = Hash.new(0)
own.each_value { |thread, time| clocks[thread] += time }
sums = Hash.new(0)
counts = Hash.new(0)
profile.samples.each do |sample|
  sums[sample.thread_id] += sample.cpu
  counts[sample.thread_id] += sample.count
end
puts JSON.generate(clocks: clocks, sums: sums, counts: counts, stats: profile.stats, threads: own.keys,
                   names: profile.samples.map(&:thread_name).uniq)
