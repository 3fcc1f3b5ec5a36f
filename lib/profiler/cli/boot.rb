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
        profiler boot --baseline before.pb.gz -- ruby -Ilib -e 'require "shop"'
        profiler boot --json -- bin/rails runner nil 2>&1 | jq '.loads.packages[0]'
        profiler boot --all-files -- rubocop --version

        A file stands under the one that required it. Its total has what it required in turn. Time in which the thread
        waited, as for a disk, is also listed apart, where wall clock time is measured. The sums of packages are without
        those that they require.

        It is profiler record, and profiler report --requires of the first process. A profile is kept only with --out.
        With --baseline, what it loads is compared with such a profile, by package and by file, the greatest change first;
        profiler diff --requires compares two that were kept.
      TEXT

      private

      # The baseline is read first, as a command can take long.
      def call(command)
        if @baseline
          load_profiler
          @before = read(@baseline)
        end
        super
      end

      def output_options(parser)
        super
        parser.on("--baseline FILE", "show what changed since that profile") { |file| @baseline = file }
        parser.on("--all-files", "list also files that took less than a hundredth of the loading time") { @all = true }
      end

      # Keeps no file unless one is requested.
      def paths = @outs.empty? ? [] : super

      def end_with(took, written, used, program, status)
        return super if written.empty?
        return if @env[Settings::QUIET]

        file = readable(written).first
        return CLI.complain("none of the files can be read again: add --out FILE.pb.gz") unless file

        profile = Profile.load(file)
        demand_one_type(@before, profile, @baseline) if @before
        return say(json(in_numbers(profile, took, written, used, status))) if @json

        CLI.complain("the command ended with #{ended(status)}") unless status.success?
        options = { all: @all ? true : false, columns: columns($stderr), color: @colored }
        say(@before ? Native.requires_diff_text(@before, profile, options) : Native.requires_text(profile, options))
      rescue Failure, FormatError, SystemCallError => e
        CLI.complain(e.message)
      end

      def in_numbers(profile, took, written, used, status)
        kept = written.reject { |it| unkept?(it) }
        named = @paths & kept
        answer = Answer.new(took, used, readable(written), named, kept - named, ended: ended(status)).to_h
        changes = { changes: Native.requires_diff(@before, profile) } if @before
        { **answer, loads: Native.requires(profile), **changes.to_h }
      end
    end
  end
end
