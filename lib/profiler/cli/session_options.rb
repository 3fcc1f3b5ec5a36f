# frozen_string_literal: true

require_relative "../platform"
require_relative "../autoload/settings"
require_relative "options"
require_relative "remote"

module Profiler
  module CLI
    # The options of a session, for classes of {Command}. They are kept as the variables of {Autoload::Settings}.
    module SessionOptions
      include Options
      include Remote

      Settings = Autoload::Settings

      # The modes if none is given: the reason for a slow program can be that it waited.
      MODES = Platform::TIME_MODES.join(",")
      # The default modes as the help shows them, on any Ruby.
      DEFAULT_MODES = "cpu,wall; before Ruby 3.3 cpu"

      # The options with their variables and their help.
      VARIABLES = {
        "--mode MODE" => [Settings::MODE, "what to measure: cpu, wall, allocations, heap, native, or several separated by commas (default #{DEFAULT_MODES})"],
        "--interval US" => [Settings::INTERVAL, "microseconds between two samples of a thread (default 1000)"],
        "--frequency HZ" => [Settings::FREQUENCY, "samples per second, instead of --interval"],
        "--max-overhead SHARE" => [Settings::MAX_OVERHEAD, "largest share of the CPU time that profiling may use, for example 0.01"],
        "--every N" => [Settings::EVERY, "sample one of every N objects, in modes allocations and heap (default 1000)"],
        "--every-bytes N" => [Settings::EVERY_BYTES, "sample one object per N bytes, instead of --every; in mode native one block (default 65536)"],
        "--engine ENGINE" => [Settings::ENGINE, "perf, thread_timer, ticker, setitimer or safepoint (default: the best available)"],
        "--depth N" => [Settings::DEPTH, "frames to keep of each stack (default 2048)"],
        "--duration S" => [Settings::DURATION, "profile only the first S seconds; the command keeps running"],
        "--signal NAME" => [Settings::SIGNAL, "a signal that pauses profiling and writes the profile, or resumes it, for example USR2"]
      }.freeze

      # The options of a session in a running process, without those for a process from its start to its end.
      OF_RUNNING = VARIABLES.reject { |_, (variable, _)| [Settings::DURATION, Settings::SIGNAL].include?(variable) }.freeze

      def initialize
        super
        # All variables are set or cleared: values of an outer profiler or a shell are not ours.
        @env = Settings::NAMES.to_h { |name| [name, nil] }
        @env[Settings::MODE] = MODES
      end

      private

      # @param variables [Hash] as {VARIABLES}
      def variable_options(parser, variables)
        variables.each do |option, (variable, text)|
          parser.on(option, text) { |value| @env[variable] = non_empty(option, value) }
        end
      end

      # Adds the options of what is kept with each sample.
      #
      # @param default [String, nil] when there is a timeline without its option
      def detail_options(parser, default = nil)
        parser.on("--fibers", "label each sample with the number of its fiber") { @env[Settings::FIBERS] = "1" }
        parser.on("--owners", "in mode native, label memory with its owner") { @env[Settings::OWNERS] = "1" }
        parser.on("--timeline", "keep the last million timeline events, about 10 bytes each#{" (#{default})" if default}") { @env[Settings::TIMELINE] = "1" }
      end

      # Refuses empty values: an empty variable counts as none, so the option would be ignored.
      def non_empty(option, value)
        return value unless value.empty?

        raise UsageError, "#{option[/\S+/]} \"\" is empty (see profiler #{self.class::USAGE[/\S+/]} --help)"
      end

      def check
        Settings.new(@env.compact).check
      rescue ArgumentError, Unsupported => e
        raise UsageError, OptionFault.of(e)&.on_command_line || e.message
      rescue Settings::Unwritable => e
        raise Failure, e.message
      end

      # Starts a session in another process.
      #
      # @param more [Hash] fields of the request: +bound+ and +farewell+, see docs/live.md
      # @return [Integer] its number
      def begin_in(client, **more)
        options = Settings.new(@env.compact).session.merge({ labels: @only }.compact.reject { |_, labels| labels.empty? })
        head, = client.ask(do: "start", options: options, **more)
        head.fetch("session")
      rescue Control::Client::Failed => e
        raise Failure, e.on_command_line || e.message
      end
    end
  end
end
