# frozen_string_literal: true

# A random program (SEED) with random sessions over it, which begin, pause, resume and end at random times: on
# all threads, on some, on one, or only under a label. Prints, for each session and thread, what the
# session gave it and between which two figures the thread's own clock says that it lies, in ns.
require "profiler"
require "json"

# A collection just before a thread first reads its clock, or after it last does, is the thread's time all the same.
GC.disable
random = Random.new(Integer(ENV.fetch("SEED")))
endpoints = %w[a b c]

# The kernel's clock of another thread's CPU time.
def clock_of(native_id)
  Process.clock_gettime((~native_id << 3) | 6, :nanosecond)
rescue Errno::EINVAL
  nil # it has ended
end

# Time under a label: at least from..to, at most before..after. What lies between is Profiler.label itself, which is tens of
# microseconds where its code is no longer in the processor's cache.
Segment = Struct.new(:endpoint, :before, :from, :to, :after)

# A thread of the program: bursts of work, under labels or not. It keeps its labels with their times on its own CPU clock, and
# its clock at its end.
class Worker
  attr_reader :name, :segments, :final

  def initialize(name, plan)
    @name = name
    @segments = []
    @thread = Thread.new do
      Thread.current.name = name
      @born = now # Ruby 3.1 uses native threads again, and their clocks run on
      plan.each { |milliseconds, endpoint, rest| burst(milliseconds, endpoint, rest) }
      @final = own_clock
    end
    Thread.pass until @born
  end

  attr_reader :thread

  def clock
    @final || ((clock_of(@thread.native_thread_id) || (@born + @final)) - @born)
  end

  private

  def now
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  end

  def own_clock
    now - @born
  end

  def burst(milliseconds, endpoint, rest)
    return spin(milliseconds) && sleep(rest) if endpoint.nil?

    segment = Segment.new(endpoint, own_clock)
    Profiler.label(endpoint: endpoint, turn: milliseconds) do
      segment.from = own_clock
      spin(milliseconds)
      sleep(rest) # another thread runs, perhaps under another label
      # Half of them in a fiber, which inherits the label from here.
      milliseconds.odd? ? Fiber.new { spin(milliseconds) }.resume : spin(milliseconds)
      segment.to = own_clock
    end
    segment.after = own_clock
    @segments << segment
  end

  def spin(milliseconds)
    till = own_clock + (milliseconds * 1_000_000)
    10.times { |number| number + 1 } while own_clock < till
    true
  end
end

# A session and the figures beside it: spans of [clocks before, clocks after] at each end.
class Watched
  attr_reader :label

  def initialize(workers, only, label, **options)
    @workers = workers
    @only = only
    @label = label
    @spans = []
    open { @session = Profiler.start(**options) }
  end

  def pause = close { @session.pause }
  def resume = open { @session.resume }
  def paused? = @session.paused?

  def finish
    paused? ? @profile = @session.stop : close { @profile = @session.stop }
  end

  # Once all workers have ended.
  def figures
    sums = @profile.samples.group_by(&:thread_name).transform_values { |rows| rows.sum(&:cpu) }
    foreign = @profile.samples.map { |sample| sample.labels["endpoint"] }.uniq - [@label] if @label
    @workers.map do |worker|
      least, most = @spans.map { |from, to| share(worker, from, to) }.transpose.map(&:sum)
      { thread: worker.name, sum: sums.fetch(worker.name, 0), least: least, most: most, foreign: foreign || [] }
    end
  end

  private

  def clocks = @workers.to_h { |worker| [worker.name, worker.clock] }

  def open
    before = clocks
    yield
    @from = [before, clocks]
  end

  def close
    before = clocks
    yield
    @spans << [@from, [before, clocks]]
  end

  # The least and the most of the worker's time that can lie in a span.
  def share(worker, from, to)
    return [0, 0] unless @only.nil? || @only.include?(worker.name)

    at = ->(clocks) { clocks.fetch(worker.name, 0) } # not there: not started yet
    shortest = [at.call(from[1]), at.call(to[0])]
    longest = [at.call(from[0]), at.call(to[1])]
    return [[shortest[1] - shortest[0], 0].max, longest[1] - longest[0]] unless @label

    under = worker.segments.select { |segment| segment.endpoint == @label }
    [under.sum { |segment| overlap(segment.from, segment.to, *shortest) }, under.sum { |entry| overlap(entry.before, entry.after, *longest) }]
  end

  def overlap(from, to, first, last) = [[to, last].min - [from, first].max, 0].max
end

plan = lambda do
  Array.new(random.rand(3..8)) { [random.rand(1..12), [nil, *endpoints].sample(random: random), random.rand(0.003)] }
end
workers = []
start_worker = -> { workers << Worker.new("worker #{workers.size}", plan.call) }
# One session runs from beginning to end, whatever the random choices are. So fibers record what they inherit when they begin, and
# sessions that start on another thread later know it.
whole = Watched.new(workers, nil, nil, interval: 1_000)
2.times { start_worker.call }
watched = []
done = []
40.times do
  case random.rand(8)
  when 0, 1
    next if watched.size > 6

    interval = [50, 1_000, 5_000, 20_000].sample(random: random)
    alive = workers.select { |worker| worker.thread.alive? }
    case random.rand(3)
    when 0 then watched << Watched.new(workers, nil, nil, interval: interval)
    when 1
      chosen = alive.sample(2, random: random)
      next if chosen.empty?

      begin
        watched << Watched.new(workers, chosen.map(&:name), nil, interval: interval, threads: chosen.map(&:thread))
      rescue ArgumentError => e
        raise unless e.message.include?("none of these is alive") # they ended this instant
      end
    else
      label = endpoints.sample(random: random)
      watched << Watched.new(workers, nil, label, interval: interval, labels: { endpoint: label })
    end
  when 2 then watched.sample(random: random)&.then { |sample| sample.paused? ? sample.resume : sample.pause }
  when 3 then done << watched.delete_at(random.rand(watched.size)).tap(&:finish) if watched.any?
  when 4 then start_worker.call if workers.count { |worker| worker.thread.alive? } < 5
  else sleep(random.rand(0.02))
  end
end
(watched - done).each(&:finish)
whole.finish
workers.each { |worker| worker.thread.join }
puts JSON.generate([whole, *(done | watched)].map(&:figures))
