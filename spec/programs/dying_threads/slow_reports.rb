# frozen_string_literal: true

# Starts a session while Ruby reports slowly why a thread died. Prints how long the thread lived in the profile, the most that it
# can have lived, and the threads of a later profile.
require_relative "../helpers"

# Reports that take their time.
reported = Queue.new
slow = Object.new
slow.define_singleton_method(:write) { |*texts| reported << true; sleep 0.2; texts.sum(&:size) }
$stderr = slow
thread = Thread.new { sleep 0.05; raise "dead" }
thread.name = "dies"
reported.pop
begun = now
session = Profiler::Session.start(mode: :wall) # it is listed, and has not reported its end
thread.join rescue nil
most = now - begun + 500_000_000
sleep 1
profile = session.stop
$stderr = STDERR
lived = profile.samples.select { |sample| sample.thread_name == "dies" }.sum(&:wall)
print_json([lived, most, Profiler.run(mode: :wall) { sleep 0.05 }.samples.map(&:thread_name)])
