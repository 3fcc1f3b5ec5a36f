# frozen_string_literal: true

# Burns time in a pause, under labels and before a fork. Prints whether each timeline adds up to what was burnt in it.
require_relative "../helpers"
require_relative "phases"

session = Profiler.start(timeline: true)
burn(50)
session.pause
burn(50)
paused_at = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
session.resume
only = Profiler.start(timeline: true, labels: { job: "a" })
used = Array.new(3) { |it| cpu_of { Profiler.label(job: %w[b a][it % 2]) { burn(35) } } }
# Whether it adds up, and has what was burnt, but no more than the clocks around.
sums = ->(profile, least, most) { [same?(profile), profile.timeline.sum(&:cpu).between?(least * 1_000_000, most + 5_000_000)] }
child = in_fork { burn(50); profile = session.stop; sums[profile, 48, cpu_now] }
labelled = only.stop
profile = session.stop
paused_at -= profile.meta[:started_at_ns]
in_pause = profile.timeline.count { |it| it.time.between?(paused_at - 45_000_000, paused_at) }
labels = labelled.timeline.map { |sample| sample.labels.slice("job") }.uniq
print_json([child, sums[labelled, 30, used[1]], labels, [same?(profile), in_pause]])
