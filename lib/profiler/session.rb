# frozen_string_literal: true

module Profiler
  # One start to one stop. Reopened here: the rest is native.
  class Session
    # Whoever drops a running session could never stop it again: so they are held here until they are over.
    @running = {}.compare_by_identity

    class << self
      # Starts a session. {Profiler.start} does this and remembers it for {Profiler.stop}.
      #
      # @return [Session]
      # @raise [ArgumentError, AlreadyRunning, Unsupported]
      def start(**options)
        session = _start(known(**options))
        @running[session] = true
        session
      end

      # Checks options as {start} would, and starts nothing.
      #
      # @return [nil]
      # @raise [ArgumentError] for a value that is not allowed
      def check(**options)
        _check(known(**options))
      end

      # @api private
      def over(session)
        @running.delete(session)
        Profiler.forget(session)
      end

      private

      def known(mode: :cpu, interval: nil, frequency: nil, depth: nil, engine: nil, metadata: nil)
        { mode: mode, interval: interval, frequency: frequency, depth: depth, engine: engine, metadata: metadata }
      end
    end

    # Ends the session.
    #
    # @return [Profile]
    # @raise [NotRunning] if it is over already, or the parent process's
    def stop
      _stop
    ensure
      Session.over(self)
    end

    # Ends the session and throws away what it saw. Does nothing when it is over.
    #
    # @return [nil]
    def discard
      _discard
      Session.over(self)
      nil
    end

    def inspect
      "#<Profiler::Session #{running? ? "running" : "over"}>"
    end

    private :_stop, :_discard
    private_class_method :_start, :_check
  end
end
