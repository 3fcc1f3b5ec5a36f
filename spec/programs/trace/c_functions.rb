# frozen_string_literal: true

# Traces C functions that return, raise, wait and switch fibers. Prints what each trace counted.
require_relative "../helpers"

class Names < Array; end
def pop_all(queue) = 30.times { queue.pop }
trace = Profiler.trace("Array#join", max_overhead: 1) do
  20.times { [1].join("C"); [1].inspect; Names.new([1]).join("C") }
  5.times { [1].join(5) rescue nil }
  send(:eval, "[1].join('C')")
end
queue = Queue.new
30.times { queue << nil }
popped = Profiler.trace("Thread::Queue#pop", max_overhead: 1) { pop_all(queue) }
slept = Profiler.trace("Kernel#sleep", max_overhead: 1) do
  3.times { sleep 0.02 }
  Fiber.new { sleep 0.02 }.resume
  Thread.new { sleep 0.02 }.join
end
nothing = Profiler.trace("NilClass#to_s", max_overhead: 1) { 7.times { nil.to_s } }
class Array; alias packed join; end
aliased = Profiler.trace(Array.instance_method(:packed), max_overhead: 1) { [1].join("C"); [1].packed("C") }
switched = Profiler.trace("Fiber#resume", max_overhead: 1) { fiber = Fiber.new { Fiber.yield; 5 }; 2.times { fiber.resume } }
print_json(pack: trace.to_h, popped: popped.to_h, slept: slept.to_h, nothing: nothing.calls, aliased: aliased.calls,
           switched: switched.to_h.slice(:finished, :results), text: slept.to_s,
           left: ObjectSpace.each_object(TracePoint).count(&:enabled?))
