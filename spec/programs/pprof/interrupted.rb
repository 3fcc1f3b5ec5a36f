# frozen_string_literal: true

# Ends requests for profiles by a kill, a Timeout, exceptions and a client that goes away. Prints the answers, and how many
# sessions are open after each.
require_relative "../helpers"
require_relative "app"
require "timeout"
require "socket"

app = pprof(token: TOKEN, concurrency: 1)
recording = lambda do
  thread = Thread.new { Thread.current.report_on_exception = false; get(app, "/profile", "seconds=60", **BEARER) }
  wait_for { open_now == [1, 1] }
  thread
end
ended = lambda do |thread|
  thread.join(20)
  "returned"
rescue Exception => e
  e.class.name
end
thread = recording.call.tap(&:kill)
results = [[ended[thread], thread.status, open_now]]
thread = recording.call.tap { |it| it.raise(IOError, "now") }
results << [thread.value.first, open_now] # an IOError in the middle of it is a refusal
thread = recording.call.tap { |it| it.raise(Interrupt, "now") }
results << [ended[thread], open_now]
results << [(Timeout.timeout(0.3) { get(app, "/profile", "seconds=60", **BEARER) } rescue $!.class.name), open_now]
ours, theirs = UNIXSocket.pair
thread = Thread.new { get(app, "/profile", "seconds=60", **BEARER, "puma.socket": ours) }
wait_for { open_now == [1, 1] }
theirs.close
results << [thread.value.first, open_now]
# Exceptions at any instant.
places = 60.times.map do
  thread = Thread.new { Thread.current.report_on_exception = false; loop { get(app, "/profile", "seconds=1", **BEARER) } }
  sleep(rand * 0.03)
  rand < 0.5 ? thread.kill : thread.raise(Interrupt, "now")
  ended[thread]
end
wait_for { GC.start; open_now == [0, 0] }
print_json([results, open_now, places.uniq.sort, get(app, "/profile", "seconds=1", **BEARER)[0]])
