# frozen_string_literal: true

# Kills threads that are refused something all the time. Prints whether many were killed, and how many did not end.
require_relative "../helpers"

junk = "no profile" * 300
refuse = lambda do
  [-> { Profiler.const_get(:Native).parse(junk) }, -> { Profiler.const_get(:Native).check_format("tea") }].each do |refused|
    refused.call
  rescue Profiler::FormatError, ArgumentError
    nil
  end
end
killed = alive = 0
till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 3
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
  thread = Thread.new { loop { refuse.call } }
  sleep rand * 0.002
  thread.kill
  alive += 1 unless thread.join(10)
  killed += 1
end
print_json(killed: killed > 50, alive: alive)
