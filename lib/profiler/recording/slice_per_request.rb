# frozen_string_literal: true

module Profiler
  class Recording
    # Makes each recording a slice of one session, so it starts and stops no timers. That session starts with a piece of work,
    # and ends if none began for a second.
    class SlicePerRequest
      REST = 1.0
      # The pause in seconds between a refusal and the next attempt, which takes longer than a short request.
      PAUSE = 1.0
      private_constant :REST, :PAUSE

      # Returns whether slices can have these options.
      #
      # @param options [Hash] as for {Profiler.start}
      def self.fits?(options) = (Array(options[:mode]) - %i[cpu wall]).empty? && %i[current all].include?(options[:threads])

      # @param options [Hash] as for {Profiler.start}
      def initialize(options)
        @options = options
        @starting = Mutex.new
        @started = 0
      end

      # Starts a slice.
      #
      # @param scope [Integer] of +Labels.new_scope+
      # @yieldparam session [Session]
      # @raise [ArgumentError, Unsupported] if no session can record; the next attempt is made a second later
      def begin(scope)
        @started += 1 # which may miss one of two threads: it only has to change
        session = @session
        yield session&.slice(scope) || session_after(session).slice(scope) || raise(Unsupported, "no session can record")
      end

      # Ends the session if no slice began for a second, and none is open. To be called again until it returns true.
      #
      # @return [Boolean] whether there is no session
      def rest?
        if @seen != @started
          @seen, @seen_at = @started, Clock.now
          false
        else
          Clock.now - @seen_at >= REST && end_if_unused
        end
      end

      # Ends the session if no slice is open.
      #
      # @return [Boolean] whether there is no session
      def end_if_unused = !@session || @session.end_unless_sliced

      private

      # @param last [Session, nil] one that is over, or records no more, as when another profiler has taken the signal
      def session_after(last)
        @starting.synchronize do
          if last && @session.equal?(last)
            @session = nil
            last.end_unless_sliced # or it ends with its last slice
          end
          @session || begin_session
        end
      end

      def begin_session
        raise @refusal if @refusal && Clock.now < @next_try

        # The session has a scope that no code enters, so it keeps no samples of its own.
        Session.begin(@options, scope: Labels.new_scope, slices: true) { |session| @session = session }
      rescue Unsupported => e
        @next_try = Clock.now + PAUSE unless e.equal?(@refusal)
        @refusal = e
        raise
      end
    end
  end
end
