# frozen_string_literal: true

# Sets labels in Ractors, with and without a session. Prints the labels that Ractors and fibers see, and those of the samples.
require_relative "../helpers"
require_relative "turns"

work = -> do
  Ractor.new do
    inner = Fiber.new { Profiler.labels }
    own = Profiler.label(a: 1) { Profiler.label(b: 2) { [Profiler.labels, Fiber.new { Profiler.labels.size }.resume] } }
    [own, Profiler.labels, inner.resume]
  end
end
alone = Array.new(2) { result_of(work.call) }
profiled = %i[cpu wall allocations].map do |mode|
  ractor = work.call
  results = [result_of(ractor)]
  sleep 0.001 until Ractor.count == 1 # before Ruby 3.3 objects are not sampled beside others
  profile = Profiler.run(mode: mode) do
    Profiler.label(main: 1) { results << (mode == :allocations ? results.first : result_of(work.call)); burn }
  end
  [results.uniq.size, profile.samples.flat_map { |row| row.labels.keys }.uniq - %w[gc gc_reason class waiter]]
end
print_json([alone, profiled, Profiler.labels])
