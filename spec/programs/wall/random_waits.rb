# frozen_string_literal: true

# A random program of threads that wait in every way, compute with and without the GVL, collect garbage, and are woken,
# interrupted and killed. Each keeps the times of its creation, start and end, and of its blocking calls. It prints these beside
# the profile, by native thread.
require "json"
require "profiler"
require "fiddle"
require "timeout"
require "socket"

RANDOM = Random.new(Integer(ENV.fetch("SEED")))
MODE = ENV.fetch("MODE", "wall").split(",").map(&:to_sym)
USLEEP = Fiddle::Function.new(Fiddle.dlopen(nil)["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT)
LOCK = Mutex.new
CHANGED = ConditionVariable.new
Storm = Class.new(StandardError)

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def burn(milliseconds)
  till = cpu_ns + (milliseconds * 1_000_000)
  40.times { |number| number.to_s } while cpu_ns < till
end

# Most of the time that it takes to create a process is neither waiting nor CPU time.
def blocked(kind)
  since = [now, cpu_ns]
  yield
ensure
  me = Thread.current
  took, used = now - since[0], cpu_ns - since[1]
  me[:blocked] += took
  me[:not_blocked] += %i[read process].include?(kind) ? took : used
end

def wait(kind, seconds)
  case kind
  when :sleep then sleep(seconds)
  when :select then IO.select([Thread.current[:pipe].first], nil, nil, seconds)
  when :read then IO.popen(["sleep", seconds.to_s], &:read)
  when :pop then Timeout.timeout(seconds) { Queue.new.pop }
  when :lock then LOCK.synchronize { sleep(seconds) }
  when :condition then LOCK.synchronize { CHANGED.wait(LOCK, seconds) }
  when :process then system("sleep", seconds.to_s)
  when :fiddle then USLEEP.call((seconds * 1_000_000).to_i)
  when :enumerator then Enumerator.new { |to| to << sleep(seconds) }.next
  end
rescue Timeout::Error, ThreadError
  nil
end

def step(kind, amount)
  case kind
  when :burn then burn(amount)
  when :collect then GC.start
  when :allocate then (amount * 500).times { "x" * 100 }
  else blocked(kind) { wait(kind, amount / 1000.0) }
  end
rescue Storm
  nil
end

KINDS = %i[burn collect allocate burn sleep select read pop lock condition process fiddle enumerator].freeze

def plan = Array.new(RANDOM.rand(3..9)) { [KINDS.sample(random: RANDOM), RANDOM.rand(1..25)] }

def live(steps)
  me = Thread.current
  me[:born] = now
  me[:born_cpu] = cpu_ns
  me[:blocked] = me[:not_blocked] = 0
  me[:pipe] = IO.pipe
  Thread.handle_interrupt(Storm => :on_blocking) do
    me[:exposed] = true
    steps.each { |kind, amount| step(kind, amount) }
  end
rescue Exception # what a timeout and a storm make of each other
  nil
ensure
  me[:lived] = true
  me[:cpu] = cpu_ns - me[:born_cpu]
end

workers = nil
me = Thread.current
till = begun = nil
profile = Profiler.run(mode: MODE, interval: Integer(ENV.fetch("INTERVAL", "1000"))) do
  begun = now
  workers = Array.new(RANDOM.rand(2..5)) do |number|
    steps = plan
    made = now
    Thread.new do
      mine = Thread.current
      mine[:made] = made # it waits for the GVL from then on
      mine.report_on_exception = false
      live(steps)
      mine[:native] = mine.native_thread_id
      mine[:till] = now if mine[:ended] = number.even?
      sleep if number.odd? # until it is killed, or for good
    end
  end
  storm = RANDOM.rand < 0.5
  steps = plan
  stormer = Thread.new do
    random = Random.new(1)
    while storm && !me[:lived]
      victim = workers.sample(random: random)
      begin
        random.rand < 0.5 ? victim.raise(Storm) : victim.wakeup if victim[:exposed] && !victim[:lived]
      rescue ThreadError
        nil
      end
      sleep 0.003
    end
  end
  live(steps)
  me[:native] = me.native_thread_id
  stormer.join
  sleep 0.002 until workers.all? { |one| one[:native] || !one.alive? }
  workers.each_with_index do |worker, number|
    next unless number % 4 == 1

    worker.kill.join
    worker[:till] = now
  end
  till = now
end
me[:made] = me[:born] = begun
rows = (workers + [me]).map do |thread|
  own = profile.samples.select { |one| one.thread_id == thread[:native] }
  # Ruby 3.1 uses native threads again, including those that Timeout makes.
  own = own.select { |one| one.thread_name.start_with?("main", "random_waits") } if RUBY_VERSION < "3.2"
  parts = %i[running runnable blocked waiting gvl gc].to_h { |state| [state, own.select { |one| one.state == state }.sum(&:wall)] }
  # Before Ruby 3.3, it is unknown since when it waits for its first turn.
  thread[:made] = thread[:born] if RUBY_VERSION < "3.3"
  life = (thread[:till] || till) - thread[:made]
  { native: thread[:native], life: life, at_work: life - (thread[:born] - thread[:made]), ended: thread[:ended] == true, cpu: thread[:cpu],
    blocked: thread[:blocked], not_blocked: thread[:not_blocked], parts: parts,
    gvl_wait: own.sum(&:gvl_wait), gc: own.sum(&:gc), wall: own.sum(&:wall) }
end
puts JSON.generate(threads: rows, stats: profile.stats, all: profile.samples.sum(&:wall))
