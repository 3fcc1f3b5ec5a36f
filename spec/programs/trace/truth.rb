# frozen_string_literal: true

# Methods that read a clock as their first and last deed, traced and not, in turns. Prints for each kind the median duration in ns
# that the clock says, and what the trace says beyond it. What a method takes before its first clock and after its last is left out.
# Also prints what a reading of the clock takes, as a measure of the machine.
require "json"
require "profiler"

CLOCK = Process::CLOCK_MONOTONIC
# Turns of a kind, and calls in each.
TURNS = 10
CALLS = 300
DEPTH = 1
ERROR = IOError.new("its backtrace is made anew by each raise")

class Work
  FIRST = []
  LAST = []

  def empty
    FIRST << Process.clock_gettime(CLOCK, :nanosecond)
    LAST << Process.clock_gettime(CLOCK, :nanosecond)
  end

  def plain
    FIRST << Process.clock_gettime(CLOCK, :nanosecond)
    20.times { |number| number.to_s }
    LAST << Process.clock_gettime(CLOCK, :nanosecond)
  end

  # The outer one of two calls reads the clock.
  def recursive(depth)
    FIRST << Process.clock_gettime(CLOCK, :nanosecond) if depth == DEPTH
    recursive(depth - 1) unless depth.zero?
    LAST << Process.clock_gettime(CLOCK, :nanosecond) if depth == DEPTH
  end

  def yielding
    FIRST << Process.clock_gettime(CLOCK, :nanosecond)
    yield 1
    yield 2
    LAST << Process.clock_gettime(CLOCK, :nanosecond)
  end

  def raising
    FIRST << Process.clock_gettime(CLOCK, :nanosecond)
    raise ERROR
  ensure
    LAST << Process.clock_gettime(CLOCK, :nanosecond)
  end

  def rescuing
    FIRST << Process.clock_gettime(CLOCK, :nanosecond)
    begin
      raise ERROR
    rescue IOError
      nil
    end
    LAST << Process.clock_gettime(CLOCK, :nanosecond)
  end

  def throwing
    FIRST << Process.clock_gettime(CLOCK, :nanosecond)
    throw :done
  ensure
    LAST << Process.clock_gettime(CLOCK, :nanosecond)
  end

  def switching
    FIRST << Process.clock_gettime(CLOCK, :nanosecond)
    Fiber.yield
    LAST << Process.clock_gettime(CLOCK, :nanosecond)
  end

  define_method(:defined) do
    FIRST << Process.clock_gettime(CLOCK, :nanosecond)
    20.times { |number| number.to_s }
    LAST << Process.clock_gettime(CLOCK, :nanosecond)
  end
end

work = Work.new
# One for all calls, as the first call in a new fiber takes about 0.2 us longer itself, before its first clock.
fiber = Fiber.new do
  loop do
    work.switching
    Fiber.yield
  end
end
numbers = Array.new(40) { |number| (number * 7_919) % 40 }
KINDS = {
  plain: -> { work.plain }, recursive: -> { work.recursive(DEPTH) }, yielding: -> { work.yielding { |number| number.to_s } },
  raising: -> { work.raising rescue nil }, rescuing: -> { work.rescuing }, throwing: -> { catch(:done) { work.throwing } }, # rubocop:disable Style/RescueModifier -- the point
  switching: -> { 2.times { fiber.resume } }, defined: -> { work.defined }
}.freeze

def median(list) = list.sort[(list.size - 1) / 2]

# The median of the calls by the clock inside of them.
def inside(count = CALLS, &work)
  [Work::FIRST, Work::LAST].each(&:clear)
  count.times { work.call }
  median(Work::LAST.zip(Work::FIRST).map { |last, first| last - first })
end

# The time between two readings of the clock, one right after the other.
def reading(count = CALLS)
  median(Array.new(count) { Process.clock_gettime(CLOCK, :nanosecond).then { |first| Process.clock_gettime(CLOCK, :nanosecond) - first } })
end

# The same by a clock around them, without its own time.
def around(count = CALLS)
  clock = reading(count)
  durations = Array.new(count) do
    first = Process.clock_gettime(CLOCK, :nanosecond)
    yield
    Process.clock_gettime(CLOCK, :nanosecond) - first
  end
  median(durations) - clock
end

results = KINDS.to_h do |kind, call|
  call.call # fills caches
  turns = Array.new(TURNS) do
    ends = around { work.empty } - inside { work.empty }
    seen = nil
    trace = Profiler.trace(Work.instance_method(kind), max_overhead: 1) { seen = inside(&call) }
    # Of a recursion, the median of the outer calls, which take longest.
    percent = kind == :recursive ? 100 - (50.0 / (DEPTH + 1)) : 50
    [seen, trace.percentiles(percent).first - seen - ends]
  end
  [kind, turns.transpose.map { |values| median(values) }]
end

# A C function has no inside. The clock around it is read by the same hook on all C functions, so turns without a trace are compared.
turns = Array.new(TURNS) do
  seen = around { numbers.sort }
  [seen, Profiler.trace("Array#sort", max_overhead: 1) { CALLS.times { numbers.sort } }.percentiles(50).first - seen]
end
results[:of_c] = turns.transpose.map { |values| median(values) }
puts JSON.generate({ reading: median(Array.new(TURNS) { reading }), kinds: results })
