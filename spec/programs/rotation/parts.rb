# frozen_string_literal: true

# Rotates a session eight times, beside one that covers all of it. Prints the times of the whole and of the parts, and the clocks
# around: the parts have to add up.
require_relative "../helpers"

whole, parts = nil, []
around = cpu_now
session = Profiler.start(mode: %i[cpu wall])
whole = Profiler.start(mode: %i[cpu wall])
inside = cpu_now
8.times do
  burn(15)
  sleep 0.01
  Thread.new { burn(5) }.join
  parts << session.rotate
end
inside = cpu_now - inside
whole = whole.stop
parts << session.stop
around = cpu_now - around
sums = ->(profile) { [profile.samples.sum(&:cpu), profile.samples.sum(&:wall), profile.stats[:duration_ns]] }
print_json(around: around, inside: inside, whole: sums[whole], parts: parts.map(&sums).transpose.map(&:sum),
           each: parts.map { |it| it.samples.sum(&:cpu) },
           gaps: parts.each_cons(2).map { |one, other| other.meta[:started_at_ns] - one.meta[:started_at_ns] - one.stats[:duration_ns] },
           samples: parts.map { |it| it.stats[:samples] }, threads: parts.map { |it| it.samples.map(&:thread_name).uniq.size })
