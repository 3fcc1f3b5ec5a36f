# frozen_string_literal: true

module Profiler
  class Recording
    # Ends recordings that take too long, as a body that streams for hours. Its thread runs only while there are recordings, and
    # checks about ten times in that period.
    #
    # A forked child has a thread of its own if the request goes on there.
    class Deadlines
      # Those with a thread, which a child has not. By identity, as the recordings are.
      WATCHING = {}.compare_by_identity
      private_constant :WATCHING

      # As a listener of {Ends}.
      #
      # @api private
      def self.forked(_same) = WATCHING.keys.each(&:continue_in_child)

      # @yieldreturn [Boolean] at each check, whether the thread may end
      def initialize(seconds, &rests)
        @rests = rests
        @seconds = seconds
        @period = (seconds / 10.0).clamp(0.01, 1.0)
        # In the order of their begins. By identity, so that operations run no Ruby code: no lock is needed.
        @open = {}.compare_by_identity
      end

      # The number of open recordings.
      def size = @open.size

      def add(recording)
        @open[recording] = true
        begin_thread unless @thread&.alive?
      end

      # Whether the recording is open.
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
          Clock.nap(@period)
          due.each(&:expire)
          break if @rests.call && over?
        end
      end

      # Gives up the thread first and checks for recordings then. So whoever adds one meanwhile notices that, or is noticed.
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
