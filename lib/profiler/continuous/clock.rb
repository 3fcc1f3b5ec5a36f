# frozen_string_literal: true

module Profiler
  class Continuous
    # The clocks and sleep of Ruby, also where an app or its tests replace them.
    module Clock
      SLEEP = Kernel.instance_method(:sleep)
      GETTIME = Process.method(:clock_gettime).unbind
      private_constant :SLEEP, :GETTIME

      class << self
        def nap(seconds)
          SLEEP.bind_call(self, seconds)
        end

        # The time of day, which all processes share, seconds.
        def time = GETTIME.bind_call(Process, Process::CLOCK_REALTIME)

        # Seconds on the monotonic clock.
        def now = GETTIME.bind_call(Process, Process::CLOCK_MONOTONIC)
      end
    end
  end
end
