# frozen_string_literal: true

# A random program of threads that have the GVL in every way, each of which knows when it had it and when it could have run. So the
# program knows what ran while others waited. It prints that beside what the profile blames, by kind of work, in ns.
#
#   SEED=1 PROGRAM=io INTERVAL=1000 SECONDS=3 ruby spec/programs/gvl/holders.rb
require "json"
require "profiler"
require "fiddle"

RANDOM = Random.new(Integer(ENV.fetch("SEED", "1")))
PROGRAM = ENV.fetch("PROGRAM").to_sym
INTERVAL = Integer(ENV.fetch("INTERVAL", "1000")) # us
SECONDS = Float(ENV.fetch("SECONDS", "3"))
NUMBERS = Array.new(15_000) { RANDOM.rand }
STUCK = Fiddle::Function.new(Fiddle.dlopen(nil)["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
LOST = 1_000_000 # a round of work that takes longer has lost the GVL or the CPU
KINDS = %i[first second third sorting collecting stuck resting].freeze

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

# The account of a thread: when it had the GVL, and for which kind of work; when it lost the GVL or the CPU; and when it could have
# run. +idle_since+ is the time since which it has had the GVL without doing any of its work.
Log = Struct.new(:had, :lost, :could, :idle_since)
LOGS = [] # of all threads

def log = Thread.current[:log] ||= Log.new([], [], []).tap { |log| LOGS << log }

# Begins a piece of work. The time since the previous one belongs to neither.
def begins
  now.tap do |at|
    since = log.idle_since
    log.had.push([since, at, :resting]) if since && at - since < LOST
  end
end

def ended(at) = log.idle_since = at

# The queues of the threads that wait to be woken. The time of a wake is when the thread could run, which a thread that sleeps would
# not know.
IDLE = []
WAKING = Random.new(RANDOM.rand(1 << 30))

# Wakes one thread, every WAKE_EACH milliseconds on average.
def wake(at)
  @next_wake ||= at
  return if at < @next_wake

  @next_wake = at + (WAKING.rand(2.0 * WAKE_EACH) * 1_000_000).to_i
  IDLE.shift&.push(now)
end

def waiter(name)
  queue = Queue.new
  thread = Thread.new do
    Thread.current.name = name
    mine = log.could
    IDLE << queue
    while (due = queue.pop)
      mine.push([due, now])
      IDLE << queue
    end
  end
  thread[:queue] = queue
  thread
end

# Works in rounds of about 10 us until it has run for +milliseconds+.
def rounds(kind, milliseconds)
  left = (milliseconds * 1_000_000).to_i
  from = last = begins
  while left.positive?
    12.times { |number| number.to_s }
    at = now
    if at - last > LOST
      log.had.push([from, last, kind])
      log.lost.push([last, at, kind])
      from = at
    else
      left -= at - last
    end
    wake(at)
    last = at
  end
  log.had.push([from, last, kind])
  ended(last)
end

# Does one thing that keeps the GVL.
def whole(kind)
  from = begins
  wake(from)
  yield
  ended(nil)
  log.lost.push([from, now, kind]) # at its end it may have lost the GVL before it could read the clock
end

def first(milliseconds) = rounds(:first, milliseconds)
def second(milliseconds) = rounds(:second, milliseconds)
def third(milliseconds) = rounds(:third, milliseconds)
def sorting(milliseconds) = (milliseconds / 2.0).ceil.times { whole(:sorting) { NUMBERS.sort } }
def collecting(_) = whole(:collecting) { GC.start }
def stuck(milliseconds) = whole(:stuck) { STUCK.call((milliseconds * 1_000).to_i) }

def resting(milliseconds)
  begins
  sleep(milliseconds / 1_000.0)
  ended(now)
end

# Starts a thread that does the steps in turn. A step has a kind, and its milliseconds or the range of them.
def actor(name, steps, till)
  random = Random.new(RANDOM.rand(1 << 30))
  Thread.new do
    Thread.current.name = name
    steps = steps.cycle
    while now < till
      kind, least, most = steps.next
      send(kind, most ? random.rand(least.to_f..most.to_f) : least)
    end
  end
end

# Computes in a thread that ends, again and again.
def maker(till)
  random = Random.new(RANDOM.rand(1 << 30))
  Thread.new do
    Thread.current.name = "maker"
    while now < till
      kind, least, most = [[:first, 4, 12], [:second, 2, 30]].sample(random: random)
      length = random.rand(least.to_f..most.to_f)
      Thread.new { Thread.current.name = "short"; send(kind, length) }.join
      resting(1)
    end
  end
end

# Milliseconds between two wakes, the number of waiters, and the threads with work.
PROGRAMS = {
  # Computes long, and then does a little IO.
  io: [3, 2, ->(till) { [actor("hog", [[:first, 80], [:resting, 0.5]], till)] }],
  # Two threads that take turns of different lengths.
  two: [2, 3, lambda do |till|
    [actor("one", [[:first, 1, 9], [:resting, 0.2, 2]], till), actor("two", [[:second, 1, 5], [:third, 1, 4], [:resting, 0.2, 2]], till)]
  end],
  # C code, Ruby code and garbage collections.
  c: [2, 2, ->(till) { [actor("hog", [[:sorting, 4, 30], [:collecting, 1], [:first, 5, 20], [:resting, 0.3]], till)] }],
  # Many threads that wait, and two that never release the GVL by themselves.
  many: [1, 8, ->(till) { [actor("hog", [[:first, 5, 60], [:second, 2, 20]], till), actor("other", [[:third, 1]], till)] }],
  # Short turns.
  short: [0.2, 2, lambda do |till|
    [actor("one", [[:first, 0.1, 0.6], [:resting, 0.05], [:second, 0.05, 0.2], [:resting, 0.05]], till), actor("two", [[:third, 0.1, 0.4], [:resting, 0.1]], till)]
  end],
  # Sleeps with the GVL.
  stuck: [1, 2, ->(till) { [actor("hog", [[:stuck, 30, 90], [:resting, 0.5], [:first, 10, 40], [:resting, 0.5]], till)] }],
  # Threads that end.
  ended: [1, 2, ->(till) { [maker(till)] }]
}.freeze

# A program of all kinds of work, chosen at random.
def random_program
  kinds = %i[first second third sorting collecting]
  steps = Array.new(RANDOM.rand(1..3)) do
    steps = Array.new(RANDOM.rand(1..3)) { [kinds.sample(random: RANDOM), RANDOM.rand(1..5), RANDOM.rand(6..60)] }
    RANDOM.rand < 0.8 ? steps << [:resting, 0.2, RANDOM.rand(1..8)] : steps
  end
  [RANDOM.rand(1..5), RANDOM.rand(1..5), ->(till) { steps.each_with_index.map { |some, number| actor("hog #{number}", some, till) } }]
end

WAKE_EACH, WAITERS, HOGS = PROGRAMS.fetch(PROGRAM) { random_program }
waiters = Array.new(WAITERS) { |number| waiter("waiter #{number}") }
sleep 0.01 until IDLE.size == WAITERS
only = ENV["OUTSIDE"] == "1" ? waiters : :all
profile = Profiler.run(mode: :wall, interval: INTERVAL, threads: only, timeline: true) do
  HOGS.call(now + (SECONDS * 1_000_000_000).to_i).each(&:join)
  waiters.each { |waiter| waiter[:queue].push(nil) }.each(&:join)
end

# A thread that did not read the clock has lost the GVL only if another one ran. Until then it had it.
runs = LOGS.flat_map { |log| (log.had.map(&:first) + log.lost.map(&:first) + log.could.map(&:last)).map { |at| [at, log.object_id] } }.sort
LOGS.each do |log|
  log.lost.each do |from, till, kind|
    at = runs.bsearch_index { |begun,| begun > from } || runs.size
    at += 1 while runs[at] && runs[at][1] == log.object_id
    log.had.push([from, [runs[at]&.first || till, till].min, kind])
  end
end

# The truth about each waiter: the overlaps of its waits with what the others had the GVL for.
truth = KINDS.to_h { |kind| [kind, 0] }
waiters.map { |waiter| waiter[:log] }.each do |log|
  others = LOGS.reject { |candidate| candidate.equal?(log) }.flat_map(&:had).sort
  place = 0
  log.could.sort.each do |from, till|
    place += 1 while others[place] && others[place][1] <= from && others[place][0] < from
    others[[place - 50, 0].max..].each do |begun, ended, kind|
      break if begun >= till

      overlap = [ended, till].min - [begun, from].max
      truth[kind] += overlap if overlap.positive?
    end
  end
end
seen = KINDS.to_h { |kind| [kind, 0] }
other = Hash.new(0)
profile.samples.each do |row|
  next unless row.gvl_blame.positive? && row.labels["waiter"]&.start_with?("waiter")

  kind = KINDS.find { |one| row.frames.any? { |frame| frame.name == "Object##{one}" } }
  kind ||= :resting if row.frames.any? { |frame| frame.name == "Object#actor" }
  kind ? seen[kind] += row.gvl_blame : other[row.frames.first.name] += row.gvl_blame
end
waits, blames = %i[gvl_wait gvl_blame].map do |weight|
  profile.samples.each_with_object(Hash.new(0)) { |row, sums| sums[(weight == :gvl_blame && row.labels["waiter"]) || row.thread_name] += row.public_send(weight) }
end
# The ticks that tell it. On a busy machine a thread that has the GVL is often without a CPU, and has fewer than by the interval.
ticks = profile.timeline.select { |event| event.gvl_blame.positive? && event.labels["waiter"]&.start_with?("waiter") }.map(&:time).uniq.size
puts JSON.generate(truth: truth, seen: seen, other: other, waits: waits, blames: blames, ticks: ticks,
                   gvl_wait: profile.samples.sum(&:gvl_wait), gvl_blame: profile.samples.sum(&:gvl_blame))
