# frozen_string_literal: true

# Runs the phases on two threads. Prints the timeline of each thread beside the thread's own clocks.
require_relative "../helpers"
require_relative "phases"

own = nil # the nap and the CPU time of each thread by its own clocks
profile = Profiler.run(mode: MODE, timeline: true) do
  threads = %w[one other].map { |name| Thread.new { Thread.current.name = name; [cpu_of { phases }, Thread.current[:napped]] } }
  own = threads.map(&:value)
end
threads = profile.timeline.group_by(&:thread_name).slice("one", "other")
both = threads.values_at("one", "other")
phase = ->(event) { event.frames.map(&:name).grep(/first_burn|nap|second_burn/).first&.delete_prefix("Object#") }
print_json(
  times: profile.timeline.map(&:time),
  # Events that were settled at the end have no count.
  phases: threads.transform_values { |all| all.select { |it| it.count > 0 }.filter_map(&phase).chunk_while { |a, b| a == b }.map(&:first) },
  naps: both.map { |all| all.select { |it| it.state == :waiting && phase[it] == "nap" }.sum(&:wall) / 1_000_000 },
  clocks: both.map { |all| all.sum(&:cpu) / 1_000_000 },
  own: own.map { |it| it.map { |ns| ns / 1_000_000 } },
  same: same?(profile), read: same?(Profiler.const_get(:Native).parse(profile.to_pprof)), stats: profile.stats
)
