# frozen_string_literal: true

require_relative "color"
require_relative "command"
require_relative "comparison"
require_relative "options"

module Profiler
  module CLI
    # +profiler diff BEFORE AFTER+: significant changes between profiles.
    class Diff < Command
      include Color
      include Options

      SUMMARY = "Shows what changed between profiles, and which changes are significant."
      USAGE = "diff [options] BEFORE[,BEFORE...] AFTER[,AFTER...]"
      EXAMPLES = <<~TEXT
        profiler diff before.pb.gz after.pb.gz
        profiler diff old1.pb.gz,old2.pb.gz new1.pb.gz,new2.pb.gz
        profiler diff before.pb.gz after.pb.gz --absolute --sort-total
        profiler diff before.pb.gz after.pb.gz --out diff.svg
        profiler diff before.pb.gz after.pb.gz --out diff.html
        profiler diff before.pb.gz after.pb.gz --requires

        The first line says how the whole run changed. Below it, functions are compared by their share of the run, or with
        --absolute by their weight. A function is listed if both its share and its weight changed significantly: a function can
        have a larger share only because another one has gone. The largest change comes first. Lines with ? are not significant.

        When equal programs are compared, one comparison in twenty shows a significant change. With one run per side, only the
        noise of sampling is known, so record three or more per side. In the picture, red is more and blue is less.
      TEXT

      def initialize
        super
        @limit = "20"
        @sort = :self
      end

      private

      def define(parser)
        parser.on("-o", "--out FILE", "also write a picture (.svg) or page (.html) of the difference") { |file| @out = file }
        filter_options(parser)
        parser.on("--absolute", "compare weights instead of shares of the run") { @absolute = true }
        parser.on("--sort-total", "compare total weights, which include callees") { @sort = :total }
        parser.on("--all", "also list changes that are not significant") { @all = true }
        parser.on("--limit N", "functions to list; 0 for all (default 20)") { |text| @limit = text }
        parser.on("--requires", "compare what was loaded, by package and by file; with --all, list all of it") { @requires = true }
        full_paths_option(parser)
        parser.on("--json", "print JSON: headline, before, after, type, and changes with before, after, chance, verdict " \
                            "(with --requires: before, after, type, packages and files)") { @json = true }
        parser.on("--md", "print Markdown for GitHub") { @md = true }
        color_option(parser)
      end

      def call(arguments)
        expected(arguments, 2, "two profiles, BEFORE and AFTER")
        limit = limit_of(@limit)
        choose_color
        return compare_loads(*arguments) if @requires

        out = picture_file if @out
        before, after = arguments.map { |it| runs(it) }
        with_file_in_errors(arguments.map { |it| CLI.text(it) }.join(" and ")) do
          if @json then print_json(json_report(arguments, Profile.diff(before, after, type: @type, sort: @sort, absolute: @absolute), limit))
          else puts Native.diff_text(before.map { |it| short(it) }, after.map { |it| short(it) }, { all: @all, limit: limit, markdown: @md, **diff_options })
          end
        end
        checked(@out) { out.replace(picture(arguments, before, after)) } if out
        0
      end

      def compare_loads(*files)
        given = { "--out" => @out, "--md" => @md, "--absolute" => @absolute, "--type" => @type }.compact.keys
        raise UsageError, "--requires cannot be combined with #{given.join(" or ")}" if given.any?

        several = files.find { |it| it.include?(",") && !File.exist?(it) }
        raise UsageError, "--requires compares one file per side, not several: #{several}" if several

        before, after = files.map { |it| read_filtered(it) }
        require_one_type(before, after, files[0])
        if @json then print_json(before_file: files[0], after_file: files[1], **Native.requires_diff(before, after))
        else puts Native.requires_diff_text(before, after, { all: @all, **table_options.except(:type) })
        end
        0
      end

      def json_report(arguments, found, limit)
        rows = @all ? found[:changes] : found[:changes].reject { |it| it[:verdict] == "same" }
        rows = rows.first(limit) unless limit.zero?
        { before_files: CLI.files(arguments[0]), after_files: CLI.files(arguments[1]), sort: @sort, absolute: @absolute ? true : false,
          **found, changes: rows }
      end

      # Returns the file for the picture, which is checked before the work begins.
      def picture_file
        raise UsageError, "--out #{@out} does not end in .svg or .html" unless @out.end_with?(".svg", ".html")

        load_profiler
        checked(@out) { Output.new(@out) }
      end

      def picture(arguments, before, after)
        return Comparison.new(*arguments, before, after).page(type: @type) if @out.end_with?(".html")

        Native.diff_svg(before, after, { type: @type, absolute: @absolute ? true : false })
      end
    end
  end
end
