# frozen_string_literal: true

# A stand-in for the API of OpenTelemetry, for children: contexts, spans and ids, as far as the profiler relies on them.
#
#   OpenTelemetry.in_span { |span| ... }
module OpenTelemetry
  # The context of a fiber.
  class Context
    # The contexts of a fiber are a variable of it, as in OpenTelemetry.
    KEY = :open_telemetry_contexts

    attr_reader :span

    def initialize(span) = @span = span

    class << self
      def current = all.last || ROOT
      def attach(context) = all.push(context).size
      def clear = Thread.current[KEY] = []

      def detach(token)
        matches = token == all.size
        all.pop
        matches
      end

      def with_current(context)
        token = attach(context)
        yield
      ensure
        detach(token)
      end

      private

      def all = Thread.current[KEY] ||= []
    end
  end

  module Trace
    Flags = Struct.new(:sampled) { alias_method :sampled?, :sampled }

    # The ids of a span.
    SpanContext = Struct.new(:trace_id, :span_id, :trace_flags, :remote, keyword_init: true) do
      alias_method :remote?, :remote
      def hex_trace_id = trace_id.unpack1("H*")
      def hex_span_id = span_id.unpack1("H*")
    end

    # A span, with what was noted of it.
    class Span
      attr_reader :context, :attributes

      def initialize(context)
        @context = context
        @attributes = {}
      end

      def set_attribute(name, value) = @attributes[name] = value

      INVALID = new(SpanContext.new(trace_id: "\0" * 16, span_id: "\0" * 8, trace_flags: Flags.new(false), remote: false))
    end

    def self.current_span(context = nil) = (context || Context.current).span || Span::INVALID
  end

  Context::ROOT = Context.new(nil)

  # A new span, in the trace of the current one or in its own.
  def self.span(sampled: true, remote: false, trace_id: nil)
    around = Context.current.span
    ids = { trace_id: trace_id || around&.context&.trace_id || Random.bytes(16), span_id: Random.bytes(8) }
    Trace::Span.new(Trace::SpanContext.new(**ids, trace_flags: Trace::Flags.new(sampled), remote: remote))
  end

  def self.in_span(**options)
    span = self.span(**options)
    Context.with_current(Context.new(span)) { yield span }
  end
end
