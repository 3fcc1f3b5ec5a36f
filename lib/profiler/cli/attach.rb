# frozen_string_literal: true

require_relative "attaching"
require_relative "command"

module Profiler
  module CLI
    # +profiler attach PID+: attaches to a process that has not loaded the profiler.
    class Attach < Command
      include Attaching

      SUMMARY = "Attaches to a Ruby process that has not loaded profiler (experimental)."
      USAGE = "attach [options] PID"
      EXAMPLES = <<~TEXT
        profiler attach 4711
        profiler attach 4711 && profiler dump 4711
        profiler detach 4711

        The process loads the profiler, and opens a control socket: from then on ps, top, dump, memory, start and record --pid
        work. One of its threads is stopped for a fraction of a millisecond. It needs Linux on x86-64, glibc, Ruby 3.1, 3.3 or
        3.4, and the right to trace the process.
      TEXT
      # The allowed seconds.
      SECONDS = (1.0..86_400).freeze
      private_constant :SECONDS

      def initialize
        super
        @options = {}
      end

      private

      def define(parser)
        parser.on("--wait SECONDS", "give up after SECONDS, and withdraw the request (default 10)") { |text| @options[:patience] = seconds("--wait", text, SECONDS) }
        parser.on("--json", "print JSON: pid, seconds, stopped_ns (each stop of one thread)") { @json = true }
      end

      def call(arguments)
        process, = expected(arguments, 1, "one PID")
        pid = Integer(process, 10, exception: false)
        raise UsageError, "#{process.inspect} is not a PID (usage: profiler #{USAGE})" unless pid&.positive?

        Control::Client.of(pid.to_s).close
        CLI.complain("process #{pid} has a control socket already: nothing to do")
        0
      rescue Control::Client::Failed
        joined = join(pid, **@options)
        reached(pid)
        @json ? print_json(pid: pid, seconds: joined.seconds, stopped_ns: joined.stops) : puts(sentence(pid, joined))
        0
      end

      def reached(pid)
        Control::Client.of(pid.to_s).close
      rescue Control::Client::Failed => e
        raise Failure, "attached to process #{pid}, but its socket cannot be reached: #{e.message}"
      end

      def sentence(pid, joined)
        stop = joined.stops.max.to_i / 1e6
        "attached to process #{pid} in #{milliseconds(joined.seconds)} (a thread was stopped for #{stop.round(2)} ms): profiler dump #{pid}; profiler detach #{pid}"
      end
    end
  end
end
