# frozen_string_literal: true

# Begins and ends spans in fibers, threads and labels. Prints for each step whether a sample has the ids of the right span.
require_relative "../helpers"
require_relative "stand_in"

Profiler.run(spans: true) {} # spans are followed from here on
checks = []
in_span do |span|
  checks << (seen == [ids(span)])
  Profiler.label(a: 1) { checks << (seen == [ids(span)]) }
  Fiber.new { checks << (seen == [{}]) }.resume
  other = Fiber.new { in_span { |it| Fiber.yield(it); checks << (seen == [ids(it)]) } }
  checks << (other.resume != span) << (seen == [ids(span)])
  other.resume
  checks << (seen == [ids(span)])
  Thread.new { checks << (seen == [{}]) }.join
  token = nil
  inner = OpenTelemetry.span
  Profiler.label(a: 1) { token = contexts.attach(contexts.new(inner)) } # it outlasts the block
  checks << (seen == [ids(inner, span)])
  Profiler.label(a: 1) { contexts.detach(token) }
  checks << (seen == [ids(span)])
  contexts.clear
  checks << (seen == [{}])
end
print_json(checks << (seen == [{}]))
