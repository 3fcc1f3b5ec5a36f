# frozen_string_literal: true

# Sets markers on two threads, in sessions of all threads and of one, also around the start of a session. Prints the markers that
# each profile has, and the length of one.
require_relative "../helpers"

all = Profiler.start
mine = Profiler.start(threads: :current)
value = Profiler.marker("import") { sleep 0.02; 7 }
Thread.new { Thread.current.name = "other"; Profiler.marker(:elsewhere) { } }.join
Profiler.marker("moment")
begin
  Profiler.marker("raising") { raise "x" }
rescue RuntimeError
  begun = nil
  late = Profiler.marker("half") { sleep 0.02; begun = now; Profiler.start.tap { sleep 0.01 } }
  lasted = now - begun # what lies before the session is 20 ms more
end
refused = error { Profiler.marker(1) }
profile = all.stop
import = profile.markers.first
require "tmpdir"
print_json(
  value: value, refused: refused,
  all: profile.markers.map { |it| [it.name, it.thread_name, it.duration.positive?] },
  mine: mine.stop.markers.map(&:name), late: late.stop.markers.map { |it| [it.name, it.duration.between?(10_000_000, lasted)] },
  duration: import.duration, age: Time.now - import.started_at, report: profile.report[/half 1 time/],
  same_from_file: Dir.mktmpdir { |box| Profiler::Profile.load(profile.save("#{box}/a.pb.gz")).markers == profile.markers }
)
