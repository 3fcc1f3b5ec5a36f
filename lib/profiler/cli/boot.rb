# frozen_string_literal: true

require_relative "record"

module Profiler
  module CLI
    # +profiler boot -- CMD+: what a command loads, and how long that takes.
    class Boot < Record
      SUMMARY = "Runs a command and shows which files it loads, and how long each takes."
      USAGE = "boot [options] -- COMMAND [ARGUMENTS]"
      EXAMPLES = <<~TEXT
        profiler boot -- bin/rails runner nil
        profiler boot --out before.pb.gz -- ruby -Ilib -e 'require "shop"'
        profiler boot --baseline before.pb.gz -- ruby -Ilib -e 'require "shop"'
        profiler boot --json -- bin/rails runner nil 2>&1 | jq '.loads.packages[0]'
        profiler boot --all-files -- rubocop --version

        A file is listed under the file that required it, and its total includes the files that it required in turn. Where
        wall clock time is measured, time spent waiting, for example for a disk, also has a column of its own. The sum of a
        package does not include the packages that it requires.

        This is profiler record followed by profiler report --requires, for the first process. The profile is kept only with
        --out. With --baseline, the loading times are compared with those in FILE, by package and by file, largest change
        first. profiler diff --requires compares two profiles that were kept.
      TEXT

      private

      # Runs the command. The baseline is read first, as the command can take long.
      def call(command)
        if @baseline
          load_profiler
          @before = read(@baseline)
        end
        super
      end

      def output_options(parser)
        super
        parser.on("--baseline FILE", "show what changed since the profile in FILE") { |file| @baseline = file }
        parser.on("--all-files", "also list files that took less than 1% of the loading time") { @all = true }
      end

      # Keeps no file unless one is requested.
      def paths = @outs.empty? ? [] : super

      def end_with(took, written, used, program, status)
        return super if written.empty?
        return if @env[Settings::QUIET]

        file = readable(written).first
        return CLI.complain("no file was written that can be read back: add --out FILE.pb.gz") unless file

        profile = Profile.load(file)
        require_one_type(@before, profile, @baseline) if @before
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
