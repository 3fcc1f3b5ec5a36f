# frozen_string_literal: true

# Traces calls of which two are slow, and saves the profile in the file that is given. Prints the times of the part within the slow
# calls.
require_relative "../helpers"

class Order
  def save(seconds) = quick(0.01) + slow(seconds)
  def quick(seconds) = sleep(seconds)
  def slow(seconds) = sleep(seconds)
end

session = Profiler.start(mode: :wall, timeline: true, threads: :all)
other = Thread.new { sleep 0.3 }
Profiler.trace("Order#save", when: "ms > 0", max_overhead: 1) do
  [0.01, 0.12, 0.02, 0.15].each { |seconds| Order.new.save(seconds); sleep 0.02 }
end
other.join
profile = session.stop
profile.save(ARGV.fetch(0))
slow = profile.filter(during: "Order#save", over: 0.1)
took = slow.markers.sum(&:duration)
print_json(markers: slow.markers.size, took: took, wall: slow.totals["wall"], timeline: slow.timeline.sum(&:wall),
           threads: slow.by(:thread).size, top: slow.find_methods("Order#slow").first[:total], notes: slow.meta[:notes],
           all: profile.filter(during: /Order/).markers.size)
