# frozen_string_literal: true

require_relative "../control/client"
require_relative "attaching"
require_relative "command"

module Profiler
  module CLI
    # +profiler dump PID+: where each thread of a process is.
    class Dump < Command
      include Attaching

      SUMMARY = "Prints where each thread of a process is, even if the process hangs."
      USAGE = "dump [options] PID"
      EXAMPLES = <<~TEXT
        profiler dump 4711
        profiler dump --watch 1 4711
        profiler dump --attach 4711
        profiler dump --outside 4711
        profiler dump --json 4711 | jq '.threads[] | select(.state == "running")'
        profiler dump /run/user/1000/profiler/4711.sock

        profiler ps lists the processes. The thread that holds the GVL comes first. If the process cannot run Ruby code, the dump
        takes a second, and methods are shown without their classes.
      TEXT

      # The allowed seconds between two dumps.
      PAUSES = (0.1..3_600).freeze

      private

      def define(parser)
        attach_option(parser)
        parser.on("--json", "print JSON, one line per dump: pid, program, ruby, at, named, notes, threads; times are nanoseconds") { @json = true }
        parser.on("--outside", "ask only the kernel, not the process: works for any program, even one that hangs") { @outside = true }
        parser.on("--watch SECONDS", "repeat every SECONDS, until the process ends") { |text| @pause = seconds("--watch", text, PAUSES) }
      end

      def call(arguments)
        process, = expected(arguments, 1, "one PID", PS_HINT)
        return outside(process) if @outside

        client = client_of(process)
        dump(client)
        watch(client) if @pause
        0
      rescue Control::Client::Failed => e
        raise Failure, e.message
      end

      def outside(process)
        require_relative "../outside"
        raise UsageError, "--outside prints one dump, and cannot be combined with --watch or --attach" if @pause || @attach

        pid = Integer(process, 10, exception: false)
        raise UsageError, "--outside needs a process id, not #{process.inspect}" unless pid&.positive?

        seen = Outside.new(pid)
        @json ? print_json(seen.to_h) : puts(Control::Client.harmless(seen.to_s))
        0
      rescue Outside::Gone => e
        raise Failure, e.message
      end

      def dump(client)
        _, text = client.ask(do: "dump", form: @json ? "json" : "text")
        $stdout.write(Control::Client.harmless(text))
        $stdout.flush
      end

      def watch(client)
        loop do
          sleep @pause
          puts unless @json
          dump(client)
        end
      rescue Control::Client::Failed
        CLI.complain("the process has ended")
      end
    end
  end
end
