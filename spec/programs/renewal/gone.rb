# frozen_string_literal: true

# Runs code that is gone soon after, and keeps its objects. Prints the CPU time and the live objects of that code, beside the clocks
# around.
require_relative "../helpers"
require_relative "templates"

handles
around = cpu_now
session = Profiler.start(mode: %i[cpu allocations heap], interval: 500, every: 1)
inside = cpu_now
KEPT = []
20.times do |number|
  60.times { eval("def renewed = (KEPT << Made.new; burn(1))\nrenewed", TOPLEVEL_BINDING, "renewed.rb") }
  GC.start
  wait_for { Thread.list.size == 1 }
end
inside = cpu_now - inside
profile = session.stop
around = cpu_now - around
live = profile.samples.select { |row| row.inuse_objects > 0 && row.labels["class"] == "Made" }
print_json(sum: profile.samples.sum(&:cpu), inside: inside, around: around,
           mine: samples_in(profile, "Object#renewed").sum(&:cpu), live: live.sum(&:inuse_objects),
           unknown: names(profile).grep(/unknown/))
