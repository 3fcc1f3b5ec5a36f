# frozen_string_literal: true

# Profiles a process that sleeps and then computes now and then. Prints how often the ticker woke up meanwhile, and how often it
# saw a running thread.
require_relative "../helpers"

turns = lambda do
  ticker = Dir["/proc/self/task/*"].find { |task| File.read(task + "/comm") == "profiler tick\n" }
  Integer(File.read(ticker + "/status")[/^voluntary_ctxt_switches:[^0-9]+([0-9]+)/, 1])
end
asleep = nil
profile = Profiler.run(mode: :wall) do
  sleep 0.3
  before = turns.call
  sleep 1
  asleep = turns.call - before
  5.times do
    sleep 0.15
    300_000.times { |it| it.to_s }
  end
end
print_json([asleep, profile.samples.select { |row| row.state == :running }.sum(&:count)])
