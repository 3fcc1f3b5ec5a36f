# frozen_string_literal: true

require_relative "options"
require_relative "command"

module Profiler
  module CLI
    # +profiler convert IN OUT+: a recorded profile in another format.
    class Convert < Command
      include Options

      SUMMARY = "Writes a recorded profile in another format."
      USAGE = "convert [options] IN OUT"
      EXAMPLES = <<~TEXT
        profiler convert profile.pb.gz profile.html
        profiler convert profile.pb.gz profile.firefox.json.gz
        profiler convert profile.pb.gz callers.svg --style reverse --app-only
        profiler convert stackprof.json profile.speedscope.json
        profiler convert profile.pb.gz flames --format svg
        profiler convert profile.pb.gz - --format folded | grep Order
        profiler convert profile.pb.gz public.pb.gz --anonymize

        IN is a .pb.gz or .html that profiler wrote, any other pprof, the JSON of vernier, rperf, stackprof, speedscope or the
        Firefox Profiler, or folded stacks.

        OUT's extension selects the format: .pb.gz, .html, .svg, .folded, .speedscope.json, .firefox.json, .cpuprofile, .callgrind,
        .stackprof.json, .md, .json or .txt; with .gz appended, it is compressed.
      TEXT

      private

      def define(parser)
        parser.on("--format FORMAT", "format of OUT, whatever its extension; required for - (stdout): pprof, html, svg, folded, " \
                                     "speedscope, firefox, cpuprofile, callgrind, stackprof, markdown, json or text") { |format| @format = format }
        parser.on("--style STYLE", STYLES) { |style| options[:style] = style }
        parser.on("--title TEXT", "title of a picture or summary") { |text| options[:title] = CLI.text(text) }
        parser.on("--anonymize", "replace names by numbers, except Ruby's own, so that the profile can be sent to strangers") { @anonymize = true }
        source_option(parser)
        filter_options(parser)
        json_option(parser)
      end

      def options
        @options ||= {}
      end

      def call(arguments)
        input, out = expected(arguments, 2, "two files, IN and OUT")
        raise UsageError, "stdout needs a format: profiler convert IN - --format FORMAT" if out == TO_STDOUT && !@format

        raise UsageError, "--anonymize leaves out names, but --source includes files: pass one of them" if @anonymize && @source

        write(out, @format, inputs: [input], type: @type, **{ source: @source }.compact, **options) { anonymized(read_filtered(input)) }
        0
      end

      def anonymized(profile)
        @anonymize ? profile.anonymize : profile
      end
    end
  end
end
