# frozen_string_literal: true

module Profiler
  class Recording
    # The session that watches work for being slow. Recordings are slices of it, so they start and stop no timers. It starts
    # with a piece of work, and ends if none began for a second.
    class Watch
      REST = 1.0
      # The pause in seconds between a refusal and the next attempt, which takes longer than a short request.
      PAUSE = 1.0
      private_constant :REST, :PAUSE

      # @param options [Hash] as for {Profiler.start}
      # @return [Watch, Hash] the options, if each recording needs a session of its own
      def self.for(options)
        (Array(options[:mode]) - %i[cpu wall]).empty? && %i[current all].include?(options[:threads]) ? new(options) : options
      end

      # @param options [Hash] as for {Profiler.start}
      def initialize(options)
        @options = options
        @starting = Mutex.new
        @begun = 0
      end

      # Starts a slice.
      #
      # @raise [ArgumentError, Unsupported] if no session can record; the next attempt is made a second later
      def slice(scope)
        @begun += 1 # which may miss one of two threads: it only has to change
        session = @session
        session&.slice(scope) || begun_after(session).slice(scope) || raise(Unsupported, "no session can record")
      end

      # Ends the session if no slice began for a second, and none is open. To be called again until it returns true.
      #
      # @return [Boolean] whether there is no session
      def rest?
        if @seen != @begun
          @seen, @seen_at = @begun, Clock.now
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
      def begun_after(last)
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
