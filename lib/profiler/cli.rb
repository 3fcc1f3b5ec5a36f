# frozen_string_literal: true

require_relative "cli/encodings"
require_relative "cli/lines"
require_relative "nearest"
require_relative "process/losses"
require_relative "version"

module Profiler
  # The program +profiler+: runs a command, and turns errors into one line on stderr and an exit status. A command is a class in
  # cli/ and an entry of {COMMANDS}.
  module CLI
    # The classes of the commands, in the order of the help.
    COMMANDS = {
      "record" => :Record,
      "stat" => :Stat,
      "boot" => :Boot,
      "ps" => :Ps,
      "attach" => :Attach,
      "top" => :Top,
      "dump" => :Dump,
      "trace" => :Trace,
      "memory" => :Memory,
      "start" => :Start,
      "snapshot" => :Snapshot,
      "stop" => :Stop,
      "detach" => :Detach,
      "view" => :View,
      "report" => :Report,
      "tree" => :Tree,
      "annotate" => :Annotate,
      "diff" => :Diff,
      "check" => :Check,
      "merge" => :Merge,
      "convert" => :Convert,
      "doctor" => :Doctor,
      "completion" => :Completion
    }.freeze

    # Alternative names that are known from other tools.
    ALIASES = { "run" => "record" }.freeze

    # Raised for an invalid command line. Exit status 2.
    class UsageError < StandardError; end

    # Raised if a valid command failed. Exit status 1 by default.
    class Failure < StandardError
      # @return [Integer]
      attr_reader :status

      def initialize(message, status: 1)
        super(message)
        @status = status
      end
    end

    COMMANDS.each { |command, name| autoload name, File.expand_path("cli/#{command}", __dir__) }

    class << self
      include Encodings
      include Lines

      # Runs the command line and ends the process with its status.
      #
      # @param argv [Array<String>]
      def start(argv)
        survive_file_limit
        exit run(argv)
      end

      # Runs the command line.
      #
      # @param argv [Array<String>]
      # @return [Integer] the exit status
      def run(argv)
        status = dispatch(argv.map { |it| argument(it) })
        $stdout.flush # here, where a broken pipe is noticed
        status
      rescue UsageError => e
        failed(e.message, 2)
      rescue Failure => e
        failed(e.message, e.status)
      rescue Errno::EPIPE
        # The reader of the output has seen enough (head, less): exit as a program killed by SIGPIPE, silently.
        128 + Signal.list.fetch("PIPE")
      rescue Interrupt
        128 + Signal.list.fetch("INT")
      rescue SystemCallError, IOError => e
        failed(trouble(e), 1)
      rescue RangeError => e
        failed("a number is too large: #{e.message}", 2)
      rescue NoMemoryError, StandardError, SystemStackError => e
        raise if ENV.key?("PROFILER_DEBUG")

        failed("unexpected #{e.class}: #{e.message.lines.first} (this is a bug: please report it with what PROFILER_DEBUG=1 prints)", 1)
      end

      # Returns the system's message for an error, without the name of the C function that Ruby adds.
      #
      # @param error [SystemCallError]
      # @return [String]
      def reason(error)
        SystemCallError.new(error.errno).message
      end

      # Prints one line on stderr, which may quote names from anywhere. Not by +warn+, which RUBYOPT=-W0 silences.
      #
      # @param message [String]
      def complain(message)
        text = message.dup.force_encoding(Encoding::UTF_8).scrub("?").strip.tr("\n", " ")
        $stderr.puts("profiler: #{Losses.harmless(text)}")
      rescue SystemCallError, IOError
        nil # nobody listens
      end

      private

      # Makes a write beyond the limit on files (ulimit -f) an error, which is reported, in place of a signal that kills. A program
      # that is run has the signal as before.
      def survive_file_limit
        before = trap("XFSZ") {}
        trap("XFSZ", before) if before == "IGNORE"
      end

      def dispatch(argv)
        first, *rest = argv
        case first
        when nil then raise UsageError, "no command given (allowed: #{names}); see profiler --help"
        when "--version", "-V" then puts "profiler #{VERSION}"
        when "--help", "-h" then puts help
        when "help" then rest.empty? ? puts(help) : puts(command_named(rest.first).new.help)
        else return command?(first) || !program?(first) ? command_named(first).new.run(rest) : Record.new.run(argv)
        end
        0
      end

      def command?(name)
        COMMANDS.key?(ALIASES.fetch(name, name))
      end

      # Returns whether there is a program of that name to record.
      def program?(name)
        return File.file?(name) && File.executable?(name) if name.include?("/")

        ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).map { |it| File.join(it, name) }.any? { |it| File.file?(it) && File.executable?(it) }
      end

      def command_named(name)
        command = COMMANDS[ALIASES.fetch(name, name)]
        raise UsageError, "#{name.inspect} is not a command#{meant(name)} (allowed: #{names}); see profiler --help" unless command

        const_get(command)
      end

      def meant(name)
        nearest = Nearest.of(name, [*COMMANDS.keys, *ALIASES.keys])
        ": did you mean #{nearest}?" if nearest
      end

      def names
        [*COMMANDS.keys, *ALIASES.keys, "help"].join(", ")
      end

      def help
        commands = COMMANDS.map { |command, name| format("  %-10s  %s", command, const_get(name).summary) }
        commands += ALIASES.map { |name, command| format("  %-10s  the same as %s", name, command) }
        text = <<~TEXT
          Measures where a Ruby program spends its time and memory.

          Usage: profiler COMMAND [options]

          #{commands.join("\n")}
            help        shows a command's options, with examples: profiler help COMMAND

          profiler PROGRAM ... is the same as profiler record -- PROGRAM ...
          profiler --version prints the version.
        TEXT
        text.lines(chomp: true).flat_map { |line| wrapped(line, columns) }.join("\n")
      end

      # Returns a message for an error that no command has rescued.
      def trouble(error)
        return error.message unless error.is_a?(SystemCallError)
        return "the working directory was removed" if error.message.end_with?("getcwd")

        error.message.end_with?("<STDOUT>") ? "cannot write to stdout: #{reason(error)}" : error.message
      end

      def failed(message, status)
        complain(message)
        status
      end
    end
  end
end
