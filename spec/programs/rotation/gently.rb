# frozen_string_literal: true

# Rotates a session of 4,000 new methods, gently and not. Prints how far another thread counted meanwhile, and how many methods
# have names.
require_relative "../helpers"

session = Profiler.start(mode: :allocations, every: 1)
counter = number = 0
rotating = lambda do |gently|
  Array.new(4_000) { eval("def new_#{number += 1} = Object.new; :new_#{number}", binding, "new.rb") }.each { |it| send(it) }
  Thread.new do
    sleep 0.01
    before = counter
    profile = session.rotate(gently: gently)
    [counter - before, profile.samples.flat_map { |row| row.frames.map(&:name) }.grep(/new_/).uniq.size]
  end
end
counts = [true, false].map do |gently|
  thread = rotating[gently]
  counter += 1 while thread.alive?
  thread.value
end
print_json(counts)
