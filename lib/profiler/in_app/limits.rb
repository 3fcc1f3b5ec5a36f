# frozen_string_literal: true

module Profiler
  module InApp
    # How many pieces of work are profiled at once, and how many profiles a minute gives. In each process.
    class Limits
      WINDOW = 60.0

      # @param concurrency [Integer] at once
      # @param rate [Integer, nil] in a minute; nil is without end
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
          start_over unless @pid == Process.pid # the places in use are those of the process that forked this one
          return "#{@concurrency} are being profiled at once" if @inside >= @concurrency
          return "#{@rate} were profiled within a minute" unless room?

          @times << now if @rate
          @inside += 1
          nil
        end
      end

      def leave
        @mutex.synchronize { @inside -= 1 if @inside.positive? }
      end

      private

      def start_over
        @pid = Process.pid
        @inside = 0
        @times = []
      end

      def room?
        return true unless @rate

        till = now - WINDOW
        @times.shift while @times.any? && @times.first < till
        @times.size < @rate
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
