# frozen_string_literal: true

# Decides on windows of programs that allocate evenly, at random and in bursts. Prints the share of the time that the open ones
# took, and how many there were.
require_relative "../helpers"

# A program whose periods have these rates of objects a second, on one CPU.
def run(rates, share)
  windows = Profiler.const_get(:Periods)::ObjectWindows.new(share)
  readings = [0.0, 0.0, 0]
  windows.define_singleton_method(:readings) { readings }
  windows.start_over
  open, spent, opened = false, 0.0, 0
  rates.each do |rate|
    readings = [readings[0] + 60, readings[1] + 60, readings[2] + rate * 60]
    spent += rate * 60 * 70e-9 if open
    opened += 1 if open
    open = windows.next?(open)
  end
  [spent / (60 * rates.size), opened]
end

random = Random.new
shapes = [->(_) { 5_000_000 }, ->(_) { random.rand(100..20_000_000) }, ->(it) { it % 10 == 0 ? 20_000_000 : 1_000 }]
results = shapes.map { |shape| run(Array.new(5_000, &shape), 0.01) }
print_json([results, run([50_000] * 100, 0.01), random.seed])
