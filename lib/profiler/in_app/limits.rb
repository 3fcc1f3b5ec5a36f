# frozen_string_literal: true

module Profiler
  module InApp
    # How many pieces of work are profiled at once, and how many profiles a minute gives. In each process.
    class Limits
      WINDOW = 60.0

      # @param concurrency [Integer] at once
      # @param rate [Integer] in a minute
      def initialize(concurrency, rate)
        @concurrency = concurrency
        @rate = rate
        @mutex = Mutex.new
        start_over
      end

      # Takes a place, which {leave} gives back.
      #
      # @return [nil, String] why there is none
      def enter
        @mutex.synchronize do
          return "#{@concurrency} are being profiled at once" if @inside >= @concurrency
          return "#{@rate} were profiled within a minute" unless room?

          @times << now
          @inside += 1
          nil
        end
      end

      def leave
        @mutex.synchronize { @inside -= 1 if @inside.positive? }
      end

      # Whether a place is taken.
      def any? = @inside.positive?

      # In a forked child: the places in use are the parent's.
      def start_over
        @inside = 0
        @times = []
      end

      private

      def room?
        till = now - WINDOW
        @times.shift while @times.any? && @times.first < till
        @times.size < @rate
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
