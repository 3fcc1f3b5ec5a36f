# frozen_string_literal: true

module Profiler
  # The OpenTelemetry spans of an app that uses it. Each fiber carries its current span, for sessions with +spans+.
  #
  # It follows contexts as they are attached and detached. Before the first such session it changes nothing in the app.
  #
  # @api private
  module Spans
    # The attribute of a span by which Grafana finds its profile.
    PROFILE_ID = "pyroscope.profile.id"

    # Goes before the methods of +OpenTelemetry::Context+.
    module Contexts
      # Attaches a context. If another thread raises here, no context is attached yet.
      def attach(context)
        Spans.enter(context)
        super
      end

      def detach(token)
        super
      ensure
        Spans.enter
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

      # Makes spans with which this process enters a trace name their profile.
      def name_profiles = @names_profiles = true

      # Makes this fiber carry the span of a context, by default of the current one. Spans of other processes and unsampled
      # spans are ignored; so are objects that only look like a context, and those that only the main Ractor may see.
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
