# frozen_string_literal: true

module Profiler
  class Recording
    # Starts a session of its own for each recording: what is requested, and modes that have no slices.
    class SessionPerRequest
      # @param options [Hash] as for {Profiler.start}
      def initialize(options)
        @options = options
      end

      # Starts a session.
      #
      # @param scope [Integer] of +Labels.new_scope+
      # @yieldparam session [Session]
      # @raise [ArgumentError, Unsupported]
      def begin(scope, &on_start) = Session.begin(@options, bound: true, scope: scope, &on_start)

      # @param requested [Hash] options in place of these
      # @return [SessionPerRequest]
      def with(requested) = SessionPerRequest.new(@options.merge(requested))

      # Returns true: nothing runs between two recordings.
      def rest? = true

      # @return [true] see {rest?}
      def end_if_unused = true
    end
  end
end
