# frozen_string_literal: true

require_relative "files"
require_relative "verb"

module Profiler
  module CLI
    # +profiler convert IN OUT+: a recorded profile in another format.
    class Convert < Verb
      include Files

      SUMMARY = "Writes a recorded profile in another format."
      USAGE = "convert IN OUT [--format FORMAT]"
      EXAMPLES = <<~TEXT
        profiler convert profile.pb.gz profile.svg
        profiler convert profile.pb.gz flames --format svg
        profiler convert profile.pb.gz - --format folded | grep Order

        IN is a .pb.gz. OUT's extension says the format: .pb.gz, .svg, .folded or .txt.
      TEXT

      private

      def define(parser)
        trim_option(parser)
        gc_option(parser)
        parser.on("--format FORMAT", "pprof, svg, folded or text, where OUT's extension does not say it;",
                  "needed when OUT is - for stdout") { |format| @format = format }
      end

      def call(arguments)
        raise UsageError, "#{problem_with(arguments)} (profiler #{USAGE})" unless arguments.size == 2

        input, out = arguments
        raise UsageError, "which format? (profiler convert IN - --format FORMAT)" if out == TO_STDOUT && !@format

        write(out, @format, inputs: [input]) { read(input) }
        0
      end

      def problem_with(arguments)
        case arguments.size
        when 0 then "which file?"
        when 1 then "to which file?"
        else "one file into one other, not #{arguments.size}: #{arguments.join(" ")}"
        end
      end
    end
  end
end
