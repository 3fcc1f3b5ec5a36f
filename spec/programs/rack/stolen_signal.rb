# frozen_string_literal: true

# Takes SIGPROF during a watched request, and gives it back. Prints how far the CPU time of each profile is off, and how many
# sessions are open.
require_relative "../helpers"
require_relative "slow_requests"

go, done = Queue.new, Queue.new
slow = lambda do |env|
  env["used"] = cpu_of { burn(40) }
  (done << true; go.pop; burn(80)) if env["wait"]
  [200, {}, []]
end
watched = Profiler::Middleware.new(slow, slower_than: 0, out: ->(it) { FOUND << it })
first, last = { "wait" => true }, {}
open = Thread.new { watched.call(first) }
done.pop
trap("PROF") { nil }
2.times { watched.call({}) } # refused
GC.start
trap("PROF", "SYSTEM_DEFAULT")
sleep 1 # until the next try
watched.call(last)
go << true
open.join
left = open_sessions
more = FOUND.zip([last, first]).map { |it, env| (it.profile.samples.sum(&:cpu) - env["used"]) / 1e6 }
print_json([more, left])
