# frozen_string_literal: true

# Starts a thousand threads in a session, ends all but one, and starts a hundred more. Prints how many places a walk of the threads
# visits each time.
require_relative "../helpers"

visited = -> { Profiler::Testing.states_visited }
during = lambda do |number|
  queue = Queue.new
  threads = Array.new(number) { Thread.new { queue.pop } }
  Thread.pass until threads.all?(&:stop?)
  count = visited.call
  kept = Thread.new { sleep }
  Thread.pass until kept.stop?
  queue.close
  threads.each(&:join)
  [count, kept]
end
session = Profiler.start(engine: :thread_timer)
before = visited.call
many, _kept = during.(1_000)
after = visited.call until session.snapshot && after == 2 # Ruby 3.1 may say of the last ones a little late that they have ended
again, = during.(100)
own = Thread.new { burn; session.snapshot }.value.samples.sum(&:cpu)
taken = session.stop.stats
print_json(before: before, many: many, after: after, again: again, handled: taken[:handler_ns], over: visited.call,
           refused: taken[:threads_refused], own: own, next: Profiler.run { burn }.stats[:handler_ns])
