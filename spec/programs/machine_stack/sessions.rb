# frozen_string_literal: true

# Runs sessions near the end of the machine stack of a thread. Prints how many were refused, and how many threads there were.
require_relative "../helpers"

def recurse(from, call, level = 0)
  call.call if level >= from
  [level].each { |number| @deepest = number; recurse(from, call, number + 1) }
end

def overflow(from = Float::INFINITY, &call)
  recurse(from, call)
rescue SystemStackError
  nil
end
counts = { refused: 0, threads: 0 }
session = lambda do
  Profiler.run(interval: 100) { 3_000.times { |number| number.to_s } }.samples
rescue SystemStackError
  counts[:refused] += 1
  raise
end
till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 4
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
  Thread.new { overflow && nil; overflow(@deepest - rand(5..60), &session) }.join
  counts[:threads] += 1
end
print_json(counts)
