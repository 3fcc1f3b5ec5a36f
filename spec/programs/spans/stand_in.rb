# frozen_string_literal: true

# Spans of a stand-in for OpenTelemetry, and the ids that samples have of them. Needs the helpers.
require "tmpdir"
require_relative "../../support/open_telemetry"

def in_span(...) = OpenTelemetry.in_span(...)
def contexts = OpenTelemetry::Context
# The ids of a span as samples have them: its trace, itself, and its root if that is another one.
def ids(span, root = nil)
  own = { "trace_id" => span.context.hex_trace_id, "span_id" => span.context.hex_span_id }
  root ? own.merge("root_span_id" => root.context.hex_span_id) : own
end

def ids_of(sample) = sample.labels.slice("trace_id", "span_id", "root_span_id")

# Milliseconds of CPU time by ids.
def by_ids(profile) = profile.samples.group_by { |sample| ids_of(sample) }.transform_values { |samples| samples.sum(&:cpu) / 1e6 }

# The ids that a sample taken now would have.
def seen
  wait_for do
    taken = Profiler.run(spans: true) { burn(8) }.samples.select { |it| it.count.positive? }
    taken.map { |sample| ids_of(sample) }.uniq.then { |all| all if all.any? }
  end
end
