# frozen_string_literal: true

module Profiler
  class Recording
    # Ends what is profiled for too long, as a body that streams for hours: with a thread that is there only while there is
    # something to end, and looks about ten times in that span. When there is nothing more, what sessions of requests leave for
    # the next one goes.
    class Deadlines
      # @param seconds [Numeric]
      def initialize(seconds)
        @seconds = seconds
        @period = (seconds / 10.0).clamp(0.01, 1.0)
        # In the order of their deadlines. By identity, so that nothing of Ruby runs inside of what is done with it: no lock is needed.
        @open = {}.compare_by_identity
      end

      # How many there are.
      def size = @open.size

      # @param recording [#expire, #thread, #began]
      def add(recording)
        @open[recording] = recording.began + @seconds
        @thread = Thread.new { watch } unless @thread&.alive?
      end

      # Whether it is there.
      def include?(recording) = @open.key?(recording)

      # @return [Float, nil] when it would have been; nil for what was not, or no longer, there
      def delete(recording)
        @open.delete(recording)
      end

      # In a forked child: what goes on is the parent's, but for that of the thread that forked.
      def start_over
        @open.select! { |recording, _at| recording.thread.alive? }
      end

      private

      def watch
        Thread.current.name = "profiler"
        Thread.current.report_on_exception = false
        loop do
          sleep(@period)
          due.each(&:expire)
          break if over?
        end
        Session.send(:_let_go)
      end

      # First nobody watches, and then there is nothing to watch: who adds something meanwhile sees the one or is seen by the other.
      def over?
        @thread = nil
        return true if @open.empty?

        @thread ||= Thread.current
        !@thread.equal?(Thread.current)
      end

      def due
        @open.to_a.take_while { |_recording, at| at <= now }.map(&:first)
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
