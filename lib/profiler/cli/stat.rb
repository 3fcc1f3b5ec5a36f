# frozen_string_literal: true

require_relative "record"

module Profiler
  module CLI
    # +profiler stat -- CMD+: the answer of {Record} without a file.
    class Stat < Record
      SUMMARY = "Runs a command and says what it used and where its time went."
      USAGE = "stat [options] -- COMMAND [ARGUMENTS]"
      EXAMPLES = <<~TEXT
        profiler stat -- ruby app.rb
        profiler stat --mode heap -- bin/rails runner Report.new.call
        profiler stat --json -- rake 2> stat.json

        It is profiler record without a file: it prints resources and findings on stderr, and exits with the status of the command.
      TEXT

      private

      # No file stays, so nothing of it can be chosen.
      def output_options(parser); end

      def paths
        []
      end
    end
  end
end
