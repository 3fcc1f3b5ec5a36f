# frozen_string_literal: true

module Profiler
  class Recording
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

      # Takes a place for +holder+, which {leave} gives back. An exception that arrives may keep it from being given back, so one
      # whose holder is over counts no more.
      #
      # @param holder [#over?] by its identity
      # @return [nil, String] why there is none
      def enter(holder)
        @mutex.synchronize do
          @inside.delete_if { |it, _| it.over? }
          return "#{@concurrency} are being profiled at once" if @inside.size >= @concurrency
          return "#{@rate} were profiled within a minute" unless room?

          @times << now
          @inside[holder] = true
          nil
        end
      end

      # Gives back what +holder+ has. It may be said more than once.
      def leave(holder)
        @inside.delete(holder)
      end

      # Whether a place is taken.
      def any? = @inside.each_key.any? { |it| !it.over? }

      # In a forked child: the places in use are the parent's.
      def start_over
        @inside = {}.compare_by_identity
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
