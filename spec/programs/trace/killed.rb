# frozen_string_literal: true

# Kills threads, and raises at them, in a traced method. Prints what the trace counted beside what the method counted itself.
require_relative "../helpers"
require_relative "calls"

class Order
  def busy(number)
    CALLS[Thread.current] += 1
    number.zero? ? loop { [3, 1].each { |value| total(value) } } : busy(number - 1)
  ensure
    total(1)
  end
end

CALLS = Hash.new(0)
trace = calls_of("Order#busy")
300.times do |round|
  thread = Thread.new { Order.new.busy(round % 5) }
  thread.report_on_exception = false
  sleep(rand / 2_000)
  round.odd? ? thread.kill : thread.raise(IOError)
  thread.join rescue nil
end
result = trace.stop.to_h
busy = result[:functions].find { |function| function[:name] == "Order#busy" }
print_json([result.slice(:calls, :finished, :unpaired, :too_deep, :unfollowed, :ended), busy[:calls], CALLS.values.sum,
            result[:functions].sum { |function| function[:self_ns] } - busy[:total_ns],
            ObjectSpace.each_object(TracePoint).count(&:enabled?)])
