# frozen_string_literal: true

require_relative "record"

module Profiler
  module CLI
    # +profiler stat -- CMD+: the summary of {Record} without a file.
    class Stat < Record
      SUMMARY = "Runs a command and reports what it used and where its time went."
      USAGE = "stat [options] -- COMMAND [ARGUMENTS]"
      EXAMPLES = <<~TEXT
        profiler stat -- ruby app.rb
        profiler stat --mode heap -- bin/rails runner Report.new.call
        profiler stat --json --output stat.json -- rake

        This is profiler record without a profile: it prints resources and findings on stderr, or writes them to a file, and exits
        with the status of the command.
      TEXT

      private

      # Defines no options for output, because no profile is kept.
      def output_options(parser)
        parser.on("--output FILE", "write the summary to FILE instead of stderr, where the command may print too") { |file| @answer_file = non_empty("--output", file) }
      end

      # Runs the command. The file is opened first, so that errors are reported before the program runs.
      def call(command)
        @answer_io = open_answer if @answer_file
        super
      ensure
        @answer_io&.close
      end

      def open_answer
        @color ||= "never"
        File.open(@answer_file, "w").tap { |io| io.sync = true } # an error of closing it would replace the command's status
      rescue SystemCallError => e
        raise Failure, unwritable(e)
      end

      def say(text)
        @answer_io ? @answer_io.puts(text) : super
      rescue SystemCallError => e
        raise Failure, unwritable(e)
      end

      def unwritable(error) = "cannot write #{@answer_file}: #{CLI.reason(error)}"

      def paths
        []
      end
    end
  end
end
