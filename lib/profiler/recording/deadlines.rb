# frozen_string_literal: true

module Profiler
  class Recording
    # Ends recordings that take too long, such as that of a body that streams for hours. Its thread runs only while there are
    # recordings, and checks about ten times in that period.
    #
    # A forked child gets its own thread if the request continues there.
    class Deadlines
      # Instances that have a thread, which does not exist in a forked child. Compared by identity, as the recordings are.
      WATCHING = {}.compare_by_identity
      private_constant :WATCHING

      # Listens to {Ends}.
      #
      # @api private
      def self.forked(_same) = WATCHING.keys.each(&:continue_in_child)

      # @yieldreturn [Boolean] at each check, whether the thread may end
      def initialize(seconds, &rests)
        @rests = rests
        @seconds = seconds
        @period = (seconds / 10.0).clamp(0.01, 1.0)
        # Ordered by start; compared by identity, so lookups run no Ruby code and no lock is needed.
        @open = {}.compare_by_identity
      end

      # Returns the number of open recordings.
      def size = @open.size

      def add(recording)
        @open[recording] = true
        begin_thread unless @thread&.alive?
      end

      # Returns whether the recording is open.
      def include?(recording) = @open.key?(recording)

      # Closes the recording.
      #
      # @return [true, nil] nil if it was not open: of concurrent callers only the first gets true
      def delete(recording) = @open.delete(recording)

      # Keeps, in a forked child, the recordings of the thread that forked: others are the parent's.
      def start_over
        @open.select! { |recording, _| recording.thread.alive? }
      end

      # @api private
      def continue_in_child
        start_over
        return WATCHING.delete(self) if @open.empty?

        begin_thread unless @thread.alive? # it may be the one that forked
      rescue ThreadError
        nil # the app has all threads that it may have
      end

      private

      def begin_thread
        Ends.listen(Deadlines)
        WATCHING[self] = true
        @thread = BackgroundThread.new("profiler") { watch }
      end

      def watch
        loop do
          Clock.sleep(@period)
          due.each(&:expire)
          break if @rests.call && over?
        end
      end

      # Gives up the thread first and checks for recordings afterwards. So a caller that adds one meanwhile notices that, or is
      # noticed.
      def over?
        WATCHING.delete(self)
        @thread = nil
        return true if @open.empty?

        @thread ||= Thread.current
        WATCHING[self] = true
        !@thread.equal?(Thread.current)
      end

      def due = @open.keys.take_while { |recording| recording.began + @seconds <= Clock.now }
    end
  end
end
