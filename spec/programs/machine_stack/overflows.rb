# frozen_string_literal: true

# Overflows the machine stack in CALL again and again, on a thread if THREAD is true. Prints how often, and the samples of it.
require_relative "../helpers"

CALL = eval("->(nested) { #{ENV.fetch("CALL")} }")
nested = []
100_000.times { nested = [nested] }
overflows = 0
work = lambda do
  till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 4
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
    begin
      CALL.call(nested)
    rescue SystemStackError, ArgumentError
      overflows += 1
    end
    GC.start if (overflows % 5).zero?
  end
end
profile = Profiler.run(interval: 50) { ENV.fetch("THREAD") == "true" ? Thread.new(&work).join : work.call }
print_json(overflows: overflows, samples: profile.stats[:samples])
