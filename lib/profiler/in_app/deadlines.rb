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
        @pid = Process.pid
      end

      # @param recording [#expire]
      def add(recording)
        @mutex.synchronize do
          @open.clear unless @pid == Process.pid
          @pid = Process.pid
          @open[recording] = now + @seconds
          @thread = Thread.new { watch } unless @thread&.alive?
        end
      end

      def delete(recording)
        @mutex.synchronize { @open.delete(recording) }
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
