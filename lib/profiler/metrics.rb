# frozen_string_literal: true

module Profiler
  # The profiler's own counters: what it recorded, delivered and lost in this process, and its overhead. {Profiler.metrics}
  # returns them, and +text+ formats them for Prometheus.
  module Metrics
    # Types and descriptions, by the names that Prometheus uses. Counters start at 0 in a forked child, and those of sinks with
    # each continuous session.
    KNOWN = {
      profiler_info: ["gauge", "Versions of the profiler and of Ruby."],
      profiler_sessions: ["gauge", "Sessions that run, paused ones too."],
      profiler_continuous: ["gauge", "Whether a continuous session runs (1) or not (0)."],
      profiler_interval_seconds: ["gauge", "The shortest interval between two samples of a thread, in effect now; none if no session takes samples of time."],
      profiler_samples_total: ["counter", "Samples of time."],
      profiler_samples_dropped_total: ["counter", "Samples of time that were dropped, by reason. The next sample of the thread carries their time."],
      profiler_cpu_seconds_total: ["counter", "CPU time that the profiler used: in signal handlers and hooks, and on threads of its own."],
      profiler_windows_delivered_total: ["counter", "Windows of the continuous session that a sink received."],
      profiler_windows_lost_total: ["counter", "Windows of the continuous session that were lost; before any sink (none), or by one."],
      profiler_windows_retried_total: ["counter", "Attempts to send a window that failed and were repeated."],
      profiler_windows_waiting: ["gauge", "Windows that wait to be sent."],
      profiler_windows_waiting_bytes: ["gauge", "Bytes of the windows that wait to be sent."],
      profiler_memory_resident_bytes: ["gauge", "Resident memory of the process at the last row of memory, by kind."],
      profiler_memory_malloc_bytes: ["gauge", "The counts of malloc itself at the last row of memory, resident or not, by state."],
      profiler_memory_slots_bytes: ["gauge", "Slots of Ruby's heap at the last row of memory, of the classes that have the most."],
      profiler_sent_bytes_total: ["counter", "Bytes that were sent to a sink, including repeated attempts."]
    }.freeze

    # Metrics by the names that sinks have for their counts.
    OF_SINKS = { delivered: :profiler_windows_delivered_total, lost: :profiler_windows_lost_total, retried: :profiler_windows_retried_total,
                 waiting: :profiler_windows_waiting, waiting_bytes: :profiler_windows_waiting_bytes, bytes: :profiler_sent_bytes_total }.freeze
    NOTHING = { sessions: 0, interval_ns: 0, counts: {} }.freeze
    ESCAPES = { "\\" => "\\\\", "\"" => "\\\"", "\n" => "\\n" }.freeze
    private_constant :OF_SINKS, :NOTHING, :ESCAPES

    class << self
      # @return [Hash{Symbol => Numeric, Hash}]
      # @raise [Unsupported] in a Ractor other than the main one
      # @api private
      # @see Profiler.metrics
      def read
        continuous = Continuous.current unless Profiler.autoload?(:Continuous) # a trap cannot load it
        { profiler_info: { { version: VERSION, ruby: RUBY_VERSION, engine: RUBY_ENGINE } => 1 }, **own(defined?(Session) ? Native.totals : NOTHING),
          profiler_continuous: continuous ? 1 : 0, **(continuous ? of_sinks(continuous) : {}), **of_memory(continuous) }
      end

      # Returns the metrics in the text format of Prometheus, version 0.0.4.
      #
      # @param metrics [Hash] the result of {read}
      # @return [String]
      def text(metrics = read)
        metrics.map do |name, value|
          type, description = KNOWN.fetch(name)
          samples = value.is_a?(Hash) ? value : { {} => value }
          ["# HELP #{name} #{description}\n# TYPE #{name} #{type}\n", *samples.map { |labels, number| "#{name}#{braces(labels)} #{number}\n" }]
        end.join
      end

      private

      def own(totals)
        counts = totals.fetch(:counts)
        metrics = { profiler_sessions: totals.fetch(:sessions) }
        metrics[:profiler_interval_seconds] = totals.fetch(:interval_ns) / 1e9 if totals.fetch(:interval_ns).positive?
        return metrics if counts.empty?

        dropped = counts.select { |name, _count| name.start_with?("dropped_") }
        metrics.merge(profiler_samples_total: counts.fetch(:captured),
                      profiler_samples_dropped_total: dropped.to_h { |name, count| [{ reason: name.to_s.delete_prefix("dropped_") }, count] },
                      profiler_cpu_seconds_total: { { part: "handlers" } => totals.fetch(:handler_ns) / 1e9,
                                                    { part: "threads" } => totals.fetch(:threads_ns) / 1e9 })
      end

      def of_sinks(continuous)
        counts = numbered(continuous.sinks).transform_values(&:counts)
        metrics = OF_SINKS.values.to_h { |it| [it, {}] }
        counts.each { |name, of_one| of_one.each { |count, number| metrics[OF_SINKS.fetch(count)][{ sink: name }] = number if OF_SINKS.key?(count) } }
        lost = metrics[:profiler_windows_lost_total]
        lost[{ sink: "none" }] = [continuous.lost - lost.values.sum, 0].max
        metrics.reject { |_name, values| values.empty? }
      end

      # Returns the last row of memory, of a log or else of the continuous session.
      def of_memory(continuous)
        log = MemoryLog.current unless Profiler.autoload?(:MemoryLog)
        row = (log || continuous&.memory)&.last or return {}

        malloc = row.fetch(:malloc) || {}
        { profiler_memory_resident_bytes: row.fetch(:kinds).to_h { |kind, bytes| [{ kind: kind.name }, bytes] },
          profiler_memory_malloc_bytes: malloc.to_h { |state, bytes| [{ state: state.name }, bytes] },
          profiler_memory_slots_bytes: row.fetch(:classes).to_h { |it| [{ class: it.fetch(:name) }, it.fetch(:bytes)] } }.reject { |_name, values| values.empty? }
      end

      # Returns the sinks by name. If several have the same name, the later ones get a number, as labels have to differ.
      def numbered(sinks)
        taken = Hash.new(0)
        sinks.to_h do |sink|
          number = taken[sink.name] += 1
          [number == 1 ? sink.name : "#{sink.name} #{number}", sink]
        end
      end

      def braces(labels)
        return if labels.empty?

        pairs = labels.map { |name, value| "#{name}=\"#{value.gsub(/[\\"\n]/, ESCAPES)}\"" }
        "{#{pairs.join(",")}}"
      end
    end
  end
end
