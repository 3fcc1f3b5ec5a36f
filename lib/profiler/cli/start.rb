# frozen_string_literal: true

require_relative "record"
require_relative "remote"

module Profiler
  module CLI
    # +profiler start PID+: starts a session in a running process.
    class Start < Record
      include Remote

      SUMMARY = "Starts a session in a running process, until profiler stop."
      USAGE = "start [options] PID"
      EXAMPLES = <<~TEXT
        profiler start 4711
        profiler start --mode allocations --only endpoint=users#show 4711
        profiler stop 4711 -o it.html

        It prints the number of the session, because a process can have several. profiler ps lists the processes.
      TEXT

      # Variables of a process from its start to its end.
      OF_PROCESSES = [Settings::DURATION, Settings::SIGNAL].freeze
      private_constant :OF_PROCESSES

      def initialize
        super
        @only = {}
      end

      private

      def options_anywhere? = true

      def define(parser)
        VARIABLES.reject { |_, (variable, _)| OF_PROCESSES.include?(variable) }.each do |option, (variable, text)|
          parser.on(option, text) { |value| @env[variable] = non_empty(option, value) }
        end
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
