# frozen_string_literal: true

module Profiler
  # The spans of OpenTelemetry, where the app has loaded it: each fiber carries the one that it is in, for sessions with +spans+.
  #
  # It follows contexts as they are attached and detached. Before the first such session it changes nothing.
  #
  # @api private
  module Traces
    # The attribute of a span by which Grafana finds its profile.
    PROFILE_ID = "pyroscope.profile.id"

    # Goes before the methods of +OpenTelemetry::Context+.
    module Contexts
      # An exception from outside that arrives here finds nothing attached yet.
      def attach(context)
        Traces.enter(context)
        super
      end

      def detach(token)
        super
      ensure
        Traces.enter
      end

      def clear
        super
      ensure
        Labels.leave_span
      end
    end

    class << self
      # Follows the app's spans from now on, if there are any to follow.
      def follow
        return if @following || !defined?(::OpenTelemetry::Trace::Span::INVALID)

        @following = true
        ::OpenTelemetry::Context.singleton_class.prepend(Contexts)
      end

      # Has the spans with which this process enters a trace say which profile they have.
      def name_profiles = @names_profiles = true

      # Has this fiber carry the span of a context, by default of the current one. Spans of other processes and those that are not
      # sampled are none; so is what only looks like a context, and what no Ractor but the main one may see.
      def enter(context = nil)
        span = ::OpenTelemetry::Trace.current_span(context)
        ids = span.context
        return Labels.leave_span if !ids.trace_flags.sampled? || ids.remote?

        root = Labels.enter_span(ids.trace_id, ids.span_id)
        span.set_attribute(PROFILE_ID, ids.hex_span_id) if root && @names_profiles
      rescue NoMethodError, Ractor::IsolationError
        Labels.leave_span
      end
    end
  end
end
