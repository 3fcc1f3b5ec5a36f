# frozen_string_literal: true

require "optparse"
require_relative "lines"

module Profiler
  module CLI
    # The base of all commands. A command defines +SUMMARY+, +USAGE+ and +EXAMPLES+, adds its options in {#define} and does its
    # work in {#call}.
    class Command
      include Lines

      # Characters in JSON strings that can only do harm on a terminal.
      HARMFUL = /[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/.freeze
      # What a usage error says if it expects a PID.
      PS_HINT = "profiler ps lists the processes"
      private_constant :HARMFUL

      class << self
        # Returns the command's line in the list of commands.
        def summary
          self::SUMMARY
        end
      end

      # @param argv [Array<String>] the arguments after the command
      # @return [Integer] the exit status
      def run(argv)
        @help = false
        rest = parse(argv)
        return call(rest) unless @help

        puts help
        0
      end

      # @param width [Integer] the columns that a line may have
      # @return [String] the options, with examples and notes
      def help(width = columns)
        parser.help.lines(chomp: true).flat_map { |line| wrapped(line, width) }.join("\n") << "\n"
      end

      # @return [Array<String>] +--json+ and the like, for shells
      def long_options
        parser.help.scan(/^\s+(?:-\w, )?(--[a-z][a-z-]*)/).flatten.uniq
      end

      private

      # @abstract Adds the command's options.
      # @param parser [OptionParser]
      def define(parser); end

      # @abstract
      # @param arguments [Array<String>] without options
      # @return [Integer] the exit status
      def call(arguments)
        raise NotImplementedError
      end

      # Returns whether options may stand among and after the arguments. Before another program's command line they may not.
      def options_anywhere?
        true
      end

      def parse(argv)
        options_anywhere? ? parser.permute(argv) : parser.order(argv)
      rescue OptionParser::ParseError => e
        raise UsageError, "#{problem(e)}; see profiler #{name} --help"
      end

      def parser
        OptionParser.new do |parser|
          parser.version = VERSION
          parser.banner = "#{self.class.summary}\n\nUsage: profiler #{self.class::USAGE}\n\nOptions:"
          define(parser)
          parser.on("-h", "--help", "show this help") { @help = true }
          examples(parser)
        end
      end

      # Returns the arguments if there are as many as the command takes.
      #
      # @param arguments [Array<String>]
      # @param size [Integer]
      # @param what [String] such as "one PID"
      # @param hint [String, nil] how to find one
      # @return [Array<String>]
      # @raise [UsageError]
      def expected(arguments, size, what, hint = nil)
        return arguments if arguments.size == size

        given = ": #{arguments.map { |argument| CLI.text(argument) }.join(" ")}" if arguments.any?
        raise UsageError, "expected #{what}, got #{arguments.size}#{given} (usage: profiler #{self.class::USAGE}#{"; #{hint}" if hint})"
      end

      # Parses the seconds of an option.
      #
      # @param allowed [Range]
      # @return [Float]
      # @raise [UsageError]
      def seconds(option, text, allowed)
        number = Float(text, exception: false)
        return number if number && allowed.cover?(number)

        raise UsageError, "#{option} #{text.inspect} is not a number of seconds from #{allowed.begin} to #{allowed.end}"
      end

      # Parses a whole number of an option.
      #
      # @param allowed [Range]
      # @param kind [String] what the number is of, for the message
      # @return [Integer]
      # @raise [UsageError]
      def whole_number(option, text, kind, allowed = 0..)
        number = Integer(text, 10) if text.match?(/\A\d+\z/)
        return number if number && allowed.cover?(number)

        raise UsageError, "#{option} #{text.inspect} is not #{kind}"
      end

      # Adds the examples: lines of shell, then paragraphs, which may fill the terminal.
      def examples(parser)
        lines, *notes = self.class::EXAMPLES.split("\n\n")
        parser.separator("\nExamples:")
        lines.each_line(chomp: true) { |line| parser.separator("  #{line}") }
        notes.each { |note| parser.separator("\n  #{note.chomp.tr("\n", " ")}") }
      end

      # Returns a message for a wrong option. OptionParser's own have two lines in some Rubies, and do not name the command.
      def problem(error)
        option, value = error.args
        case error
        when OptionParser::MissingArgument then "#{option} needs a value"
        when OptionParser::NeedlessArgument then "#{option} takes no value"
        when OptionParser::AmbiguousOption then "#{option} is ambiguous: several options begin like this"
        when OptionParser::InvalidOption then "#{name} has no option #{option}"
        else "%s cannot be %p" % (value ? [option, value] : option.split("=", 2)) # --session=x is one argument, --session x are two
        end
      end

      def print_json(value)
        puts json(value)
      end

      # @param value [Hash, Array] whose names and paths may come from anywhere
      def json(value)
        require "json"
        harmless(JSON.generate(textual(value), indent: "  ", space: " ", object_nl: "\n", array_nl: "\n"))
      end

      # Escapes characters that JSON allows and a terminal should not get: controls beyond ASCII, and changes of text direction.
      def harmless(json) = json.gsub(HARMFUL) { |it| format("\\u%04x", it.ord) }

      # Returns the value with all strings as text, as a path is bytes, and null for a number that JSON cannot have.
      def textual(value)
        case value
        when Float then value.finite? ? value : nil
        when String then value.encoding == Encoding::UTF_8 && value.valid_encoding? ? value : value.dup.force_encoding(Encoding::UTF_8).scrub("?")
        when Array then value.map { |it| textual(it) }
        when Hash then value.transform_values { |it| textual(it) }
        else value
        end
      end

      def name
        self.class.name[/\w+\z/].downcase
      end

      # Loads the profiler this late, because help must work even if the extension does not load.
      def load_profiler
        require_relative "../platform"
        reason = Platform.unsupported_reason
        raise Failure, "cannot work on this Ruby: #{reason}" if reason

        require_relative "../../profiler"
      rescue LoadError => e
        raise Failure, "the extension cannot be loaded: #{e.message}"
      end
    end
  end
end
