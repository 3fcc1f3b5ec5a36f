# frozen_string_literal: true

module Profiler
  # The clocks and the sleep of the system, which an app or its tests cannot replace or freeze.
  module Clock
    SLEEP = Kernel.instance_method(:sleep)
    private_constant :SLEEP

    class << self
      def sleep(seconds)
        SLEEP.bind_call(self, seconds)
      end

      # Returns the time of day, which all processes share, in seconds since 1970 UTC.
      def time = Native.clock(true)

      # Returns seconds on the monotonic clock.
      def now = Native.clock(false)

      # Returns nanoseconds on the monotonic clock.
      def now_ns = Native.clock_ns
    end
  end
end
