# frozen_string_literal: true

require_relative "record"

module Profiler
  module CLI
    # +profiler boot -- CMD+: what a command loads, and how long that takes.
    class Boot < Record
      SUMMARY = "Runs a command and shows which files it loads, and what each takes."
      USAGE = "boot [options] -- COMMAND [ARGUMENTS]"
      EXAMPLES = <<~TEXT
        profiler boot -- bin/rails runner nil
        profiler boot --out before.pb.gz -- ruby -Ilib -e 'require "shop"'
        profiler boot --all-files -- rubocop --version

        A file stands under the one that required it. Its total has what it required in turn. Time in which the thread
        waited, as for a disk, is also listed apart, where wall clock time is measured. The sums of packages are without
        those that they require.

        It is profiler record, and profiler report --requires of the first process. A profile is kept only with --out;
        two of them are compared by profiler diff.
      TEXT

      private

      def output_options(parser)
        super
        parser.on("--all-files", "list also files that took less than a hundredth of the loading time") { @all = true }
      end

      # Keeps no file unless one is requested.
      def paths = @outs.empty? ? [] : super

      def end_with(took, written, used, program, status)
        return super if @json || written.empty?
        return if @env[Settings::QUIET]

        file = readable(written).first
        return CLI.complain("none of the files can be read again: add --out FILE.pb.gz") unless file

        CLI.complain("the command ended with #{ended(status)}") unless status.success?
        say(Native.requires_text(Profile.load(file), { all: @all ? true : false, columns: columns($stderr), color: @colored }))
      rescue FormatError, SystemCallError => e
        CLI.complain(e.message)
      end
    end
  end
end
