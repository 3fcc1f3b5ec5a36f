# frozen_string_literal: true

module Profiler
  class Recording
    # The session that watches work for being slow. Recordings are slices of it, so they start and stop nothing. It begins with a
    # piece of work, and ends when none began for a second.
    class Watch
      REST = 1.0
      # Seconds after a refusal until the next try, which costs more than a short request.
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

      # Begins a slice.
      #
      # @raise [ArgumentError, Unsupported] if no session can record; the next try comes a second later
      def slice(scope)
        @begun += 1 # which may miss one of two threads: it only has to change
        session = @session
        session&.slice(scope) || begun_after(session).slice(scope) || raise(Unsupported, "no session can record")
      end

      # Ends the session if nothing began for a second, and nothing is open. It is to be called again until then.
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

      # Ends the session if nothing is open.
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

        # A scope that nobody enters: it keeps no samples of its own.
        Session.begin(@options, scope: Labels.new_scope, slices: true) { |session| @session = session }
      rescue Unsupported => e
        @next_try = Clock.now + PAUSE unless e.equal?(@refusal)
        @refusal = e
        raise
      end
    end
  end
end
