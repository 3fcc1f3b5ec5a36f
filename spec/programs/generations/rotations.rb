# frozen_string_literal: true

# Renews a method 480 times in two sessions, of which one is rotated 40 times. Prints the times of both beside the clocks around,
# and how many handles were kept.
require_relative "../helpers"
require_relative "renewing"

around = cpu_now
whole = Profiler.start(mode: :cpu, interval: 1_000)
session = Profiler.start(mode: :cpu, interval: 1_000)
inside = cpu_now
counts = [kept]
parts = Array.new(40) do
  12.times { renew; other(4) }
  session.rotate.tap { counts << kept }
end
snapshot = whole.snapshot
inside = cpu_now - inside
parts << session.stop
counts << kept
whole = whole.stop
around = cpu_now - around
mine = ->(profile) { profile.samples.select { |row| row.frames.any? { |it| it.name == "Object#renewed" } }.sum(&:cpu) }
print_json(counts: counts, inside: inside, around: around,
           whole: whole.samples.sum(&:cpu), parts: parts.sum { |it| it.samples.sum(&:cpu) },
           mine: [mine[whole], parts.sum(&mine), mine[snapshot]], rows: whole.samples.size,
           unknown: [whole, snapshot, *parts].flat_map { |it| names(it) }.uniq.grep(/unknown/))
