# frozen_string_literal: true

# Methods of all kinds, each of which keeps account of its calls and durations by itself, and is traced meanwhile. Prints both:
# for each kind, the calls and times that the method saw, and those of the trace.
require "json"
require "profiler"

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

# Calls and durations in ns, as the methods see them, without what comes before their first and after their last line.
SEEN = Hash.new { |all, kind| all[kind] = [] }

class Orders
  def plain(count)
    began = now
    count.times { |number| number.to_s }
    SEEN[:plain] << (now - began)
    count.to_s
  end

  def recursive(depth)
    began = now
    result = depth.zero? ? 0 : 1 + recursive(depth - 1)
    SEEN[:recursive] << (now - began)
    result
  end

  def yielding
    began = now
    yield 1
    yield 2
    SEEN[:yielding] << (now - began)
    nil
  end

  def raising(number)
    began = now
    raise ArgumentError, "odd" if number.odd?

    number
  ensure
    SEEN[:raising] << (now - began)
  end

  def rescuing(number)
    began = now
    Integer("x") if number.odd?
    number
  rescue ArgumentError
    nil
  ensure
    SEEN[:rescuing] << (now - began)
  end

  def throwing
    began = now
    throw :done
  ensure
    SEEN[:throwing] << (now - began)
  end

  def switching
    began = now
    Fiber.yield
    SEEN[:switching] << (now - began)
    :switched
  end

  define_method(:defined) do |seconds|
    began = now
    sleep seconds
    SEEN[:defined] << (now - began)
    seconds
  end

  def self.of_class(count)
    began = now
    count.times { |number| number.to_s }
    SEEN[:of_class] << (now - began)
    self
  end

  def one_line(number) = number.odd? ? raise(IOError, "odd") : SEEN[:one_line] << 0
end

orders = Orders.new
fibers = nil
WORK = {
  plain: -> { 200.times { |number| orders.plain(number) } },
  recursive: -> { 20.times { orders.recursive(20) } },
  yielding: -> { 50.times { orders.yielding { |number| number.to_s } } },
  raising: -> { 50.times { |number| orders.raising(number) rescue nil } }, # rubocop:disable Style/RescueModifier -- the point
  rescuing: -> { 50.times { |number| orders.rescuing(number) } },
  throwing: -> { 10.times { catch(:done) { orders.throwing } } },
  switching: lambda {
    fibers = Array.new(10) { Fiber.new { orders.switching } }
    fibers.each(&:resume)
    fibers.reverse_each(&:resume)
  },
  defined: -> { 5.times { orders.defined(0.002) } },
  of_class: -> { 100.times { |number| Orders.of_class(number) } },
  one_line: -> { 20.times { |number| orders.one_line(number) rescue nil } } # rubocop:disable Style/RescueModifier -- the point
}.freeze

results = WORK.to_h do |kind, work|
  work.call # fills caches
  SEEN.delete(kind)
  trace = Profiler.trace(kind == :of_class ? "Orders.of_class" : "Orders##{kind}", max_overhead: 1, &work)
  [kind, { seen: SEEN[kind], trace: trace.to_h, percentiles: trace.percentiles(50, 100) }]
end
puts JSON.generate(results)
