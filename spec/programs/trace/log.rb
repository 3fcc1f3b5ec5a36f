# frozen_string_literal: true

# An Order, and objects that abort if the log of a trace calls them. Needs the helpers.
class Hostile < BasicObject
  def method_missing(name, *) = ::Kernel.abort("called #{name}")
  def respond_to_missing?(*) = ::Kernel.abort("asked")
end

class Liar < String
  %i[bytesize byteslice inspect to_s to_str encoding == size length dup].each { |name| define_method(name) { |*| abort "called #{name}" } }
end

class Order
  def save(id, note: nil, password: nil, more: nil) = more == :raise ? raise(IOError, "no") : [id, note]
  def slow(seconds) = sleep(seconds)
  def any(*, value, **, &block) = value
  def outer(number) = inner(number)
  def inner(number) = number.odd? ? raise(ArgumentError, "odd") : number
end

# The lines without their time.
def lines(name = "Order#save", **options, &block)
  Profiler.trace(name, max_overhead: 1, **options, &block).log.map { |line| line.sub(/\A\d\d:\d\d:\d\d\.\d\d\d  /, "") }
end

ORDER = Order.new
def order = ORDER
