# frozen_string_literal: true

require_relative "../control/client"
require_relative "command"

module Profiler
  module CLI
    # +profiler trace PID METHOD+: counts and times the calls of one method in a running process.
    class Trace < Command
      SUMMARY = "Counts and times every call of one method in a running process."
      USAGE = "trace [options] PID METHOD"
      EXAMPLES = <<~TEXT
        profiler trace 4711 'Order#save'
        profiler trace --for 10 4711 'ActiveRecord::Base.connection'
        profiler trace --limit 100 --json 4711 'Order#save' | jq .percentiles_ns

        It traces until the process ends, or you press Ctrl-C. The method has to be written in Ruby; all other code of the
        process runs as before. profiler ps lists the processes.
      TEXT

      # The allowed seconds.
      SECONDS = (0.1..86_400).freeze
      # The seconds between two questions whether the trace still runs.
      PAUSE = 0.5
      private_constant :SECONDS, :PAUSE

      def initialize
        super
        @json = false
        @options = {}
      end

      private

      def define(parser)
        parser.on("--for SECONDS", "end after so many seconds") { |text| @seconds = seconds(text) }
        parser.on("--limit CALLS", "end after so many calls") { |text| @options[:limit] = calls(text) }
        parser.on("--max-overhead SHARE", "end when tracing takes more than this share of a core (default 0.05)") { |text| @options[:max_overhead] = share(text) }
        parser.on("--json", "print JSON; times are nanoseconds") { @json = true }
      end

      def seconds(text)
        number = Float(text, exception: false)
        return number if number && SECONDS.cover?(number)

        raise UsageError, "--for: #{text.inspect} is not a number of seconds from #{SECONDS.begin} to #{SECONDS.end}"
      end

      def calls(text)
        number = Integer(text, 10, exception: false)
        return number if number&.positive?

        raise UsageError, "--limit: #{text.inspect} is not a number of calls"
      end

      def share(text)
        Float(text, exception: false) or raise UsageError, "--max-overhead: #{text.inspect} is not a share of a core, such as 0.05"
      end

      def call(arguments)
        process, method, *rest = arguments
        raise UsageError, "one process and one method are needed (profiler #{USAGE}); profiler ps lists processes" unless method && rest.empty?

        client = Control::Client.of(process)
        trace(client, method)
        0
      rescue Control::Client::Failed => e
        raise Failure, e.message
      ensure
        client&.close
      end

      def trace(client, method)
        begun, = client.ask({ do: "trace", method: method, **@options })
        CLI.complain("tracing #{Control::Client.harmless(begun["name"].to_s)}#{" until Ctrl-C" unless @seconds || @options[:limit]}") unless @json
        wait(client, begun["trace"])
        _, text = client.ask({ do: "traced", trace: begun["trace"], json: @json, columns: columns })
        $stdout.write(Control::Client.harmless(text), @json ? "\n" : "")
      end

      # Waits for the end of the trace. The first Ctrl-C ends it, too.
      def wait(client, number)
        till = @seconds && now + @seconds
        loop do
          left = till ? till - now : PAUSE
          return unless left.positive?
          raise Failure, "the process has ended" if client.gone_within?([left, PAUSE].min)
          return unless client.ask({ do: "tracing", trace: number }).first["running"]
        end
      rescue Interrupt
        nil
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
