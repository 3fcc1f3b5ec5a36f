# frozen_string_literal: true

module Profiler
  class Recording
    # Limits how often something happens within a minute, in each process.
    class RateLimit
      WINDOW = 60.0
      private_constant :WINDOW

      # @param most [Integer] in a minute
      def initialize(most)
        @most = most
        @mutex = Mutex.new
        start_over
      end

      # Counts one more, unless there were too many.
      #
      # @return [Boolean] whether it was counted
      def allow?
        @mutex.synchronize do
          now = Clock.now
          @times.shift while @times.any? && @times.first < now - WINDOW
          next false if @times.size >= @most

          @times << now
          true
        end
      end

      # Counts from zero, in a forked child.
      def start_over
        @times = []
      end
    end
  end
end
