# frozen_string_literal: true

module Profiler
  class Recording
    # The session that watches work for being slow. Recordings are slices of it, so they start and stop nothing. It begins with a
    # piece of work, and ends when there was none for a while.
    class Watch
      # @param options [Hash] as for {Profiler.start}
      def self.possible?(options)
        (Array(options[:mode]) - %i[cpu wall]).empty? && %i[current all].include?(options[:threads])
      end

      # @param options [Hash] as for {Profiler.start}
      def initialize(options)
        @options = options.merge(threads: :all)
        @starting = Mutex.new
      end

      # Begins a slice.
      #
      # @param scope [Integer]
      # @return [Session, nil] nil if no session can record
      # @raise [Unsupported]
      def slice(scope)
        session = @session
        session&.slice(scope) || begun_after(session).slice(scope)
      end

      # Ends the session if no recording is open.
      def rest
        @session&.end_unless_sliced
      end

      private

      # @param last [Session, nil] one that is over, or records no more, as when another profiler has taken the signal
      def begun_after(last)
        @starting.synchronize do
          # Its slices have a session to be stopped with.
          @last, @session = last, nil if @session.equal?(last)
          # A scope that nobody enters: it keeps no samples of its own.
          @session || Session.begin(@options, scope: Labels.new_scope, slices: true) { |session| @session = session }
        end
      end
    end
  end
end
