# frozen_string_literal: true

module Profiler
  module InApp
    # Ends what is profiled for too long, as a body that streams for hours: with a thread that is there only while there is
    # something to end, and looks about ten times in that span.
    class Deadlines
      # @param seconds [Numeric]
      def initialize(seconds)
        @seconds = seconds
        @period = (seconds / 10.0).clamp(0.01, 1.0)
        @mutex = Mutex.new
        @open = {}.compare_by_identity # in the order of their deadlines
      end

      # @param recording [#expire]
      def add(recording)
        @mutex.synchronize do
          @open[recording] = now + @seconds
          @thread = Thread.new { watch } unless @thread&.alive?
        end
      end

      # @return [Float, nil] when it would have been; nil for what was not, or no longer, there
      def delete(recording)
        @mutex.synchronize { @open.delete(recording) }
      end

      # In a forked child: what goes on is the parent's, as is the thread.
      def start_over
        @mutex.synchronize { @open.clear }
      end

      private

      def watch
        Thread.current.name = "profiler"
        Thread.current.report_on_exception = false
        loop do
          sleep(@period)
          due.each(&:expire)
          break if @mutex.synchronize { @open.empty? && (@thread = nil).nil? }
        end
      end

      def due
        @mutex.synchronize { @open.take_while { |_recording, at| at <= now }.map(&:first) }
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
