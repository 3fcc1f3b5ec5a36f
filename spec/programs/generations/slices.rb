# frozen_string_literal: true

# Allocates in code that is gone at once, while slices of another session end. Prints which files have how many objects.
require_relative "../helpers"
require_relative "renewing"

Kept = Class.new
session = Profiler.start(mode: :allocations, every: 1)
watch = Profiler::Session.begin({ mode: :cpu, threads: :all }, scope: Profiler.const_get(:Labels).new_scope, slices: true) { nil }
40.times do |round|
  Object.class_eval("def made = 3.times { Kept.new }", "made#{round}.rb", 1)
  2.times { made }
  kept # generations are frozen at 60 handles
  watch.slice(Profiler.const_get(:Labels).new_scope).stop
  Object.class_eval("def made = nil", "none.rb")
  GC.start
  # New code takes the place of what is gone.
  20.times { |number| Object.class_eval("def filler#{number} = nil", "filler#{round}.rb") }
end
rows = session.stop.samples.select { |row| row.labels["class"] == "Kept" }
files = ->(row) { row.frames.map { |it| File.basename(it.path) }.grep(/made|none|filler/).uniq }
print_json(rows.group_by(&files).map { |names, some| [names, some.sum(&:alloc_objects)] })
