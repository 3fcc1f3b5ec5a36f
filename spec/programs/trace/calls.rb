# frozen_string_literal: true

# An Order whose methods are traced with the calls inside. Needs the helpers.
class Order
  def save(number) = total(number) + total(number)
  def total(number) = [number, 1].rotate.size
  def deep(number) = number.zero? ? 0 : 1 + deep(number - 1)
  def wait = Thread.pass.then { sleep 0.001; total(1) }
  def raising(number)
    raising(number - 1) if number.positive?
    raise IOError, "deep"
  end
end

def calls_of(name, **options, &block) = Profiler.trace(name, max_overhead: 1, calls: true, **options, &block)
def counts(trace) = trace.functions.to_h { |function| [function.name, function.calls] }
