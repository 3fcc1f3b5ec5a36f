# frozen_string_literal: true

require "json"
require "zlib"

module Profiler
  module Sinks
    # Rows of memory as metrics of OpenTelemetry, in the JSON of its HTTP protocol: gauges in bytes, with a point for each row.
    module OtlpGauges
      PATH = "/v1/metrics"
      TYPE = "application/json"

      class << self
        # @param rows [Array<String>] in JSON
        # @param resource [Hash{String => String}] attributes
        # @return [String] the body of a request, packed
        def encode(rows, resource)
          rows = Ledger.rows("[#{rows.join(",")}]")
          metrics = [gauge("process.memory.resident", "Resident memory by kind.", rows) { |row| points(row, "kind", row.fetch(:kinds)) },
                     gauge("process.memory.malloc", "The counts of malloc itself, resident or not.", rows) { |row| points(row, "state", row.fetch(:malloc) || {}) },
                     gauge("ruby.memory.slots", "Slots of Ruby's heap of the classes that have the most.", rows) do |row|
                       points(row, "class", row.fetch(:classes).to_h { |it| [it.fetch(:name), it.fetch(:bytes)] })
                     end]
          scope = { scope: { name: "profiler", version: VERSION }, metrics: metrics }
          Zlib.gzip(JSON.generate(resourceMetrics: [{ resource: { attributes: attributes(resource) }, scopeMetrics: [scope] }]))
        end

        private

        def gauge(name, description, rows, &points)
          { name: name, description: description, unit: "By", gauge: { dataPoints: rows.flat_map(&points) } }
        end

        def points(row, name, bytes)
          bytes.map { |value, number| { timeUnixNano: row.fetch(:at_ns).to_s, asInt: number.to_s, attributes: attributes(name => value.to_s) } }
        end

        def attributes(pairs) = pairs.map { |name, value| { key: name, value: { stringValue: value } } }
      end
    end
  end
end
