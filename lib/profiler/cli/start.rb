# frozen_string_literal: true

require_relative "command"
require_relative "session_options"

module Profiler
  module CLI
    # +profiler start PID+: starts a session in a running process.
    class Start < Command
      include SessionOptions

      SUMMARY = "Starts a session in a running process, until profiler stop."
      USAGE = "start [options] PID"
      EXAMPLES = <<~TEXT
        profiler start 4711
        profiler start --mode allocations --only endpoint=users#show 4711
        profiler stop 4711 -o it.html

        It prints the number of the session, because a process can have several. profiler ps lists the processes.
      TEXT

      def initialize
        super
        @only = {}
      end

      private

      def define(parser)
        variable_options(parser, OF_RUNNING)
        detail_options(parser)
        parser.on("--only NAME=VALUE", "record only while the label has this value; may be repeated") { |text| @only.store(*label(text)) }
        attach_option(parser)
        parser.on("--json", "print JSON: session") { @json = true }
      end

      def label(text)
        name, value = text.split("=", 2)
        return [name, value] if value && !name.empty?

        raise UsageError, "--only #{text.inspect} is not NAME=VALUE"
      end

      def call(arguments)
        process = one_process(arguments)
        load_profiler
        check
        with_client(process) do |client|
          number = begin_in(client)
          @json ? print_json(session: number) : puts("session #{number} is running: profiler stop --session #{number} #{process}")
        end
        0
      end
    end
  end
end
