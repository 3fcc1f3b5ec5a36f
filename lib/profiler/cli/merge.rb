# frozen_string_literal: true

require_relative "files"
require_relative "command"

module Profiler
  module CLI
    # +profiler merge FILE...+: the sum of several profiles.
    class Merge < Command
      include Files

      SUMMARY = "Adds up several recorded profiles."
      USAGE = "merge [options] FILE..."
      EXAMPLES = <<~TEXT
        profiler merge cpu.pb.gz cpu.4711.pb.gz cpu.4712.pb.gz --out all.pb.gz
        profiler merge worker-*.pb.gz -o workers.svg
        profiler merge day.pb.gz hour.pb.gz -o day.pb.gz
        profiler merge worker-*.pb.gz -o workers.pb.gz --json | jq .totals
        profiler merge *.pb.gz -o - | ssh elsewhere 'cat > all.pb.gz'

        Each FILE is a .pb.gz, or another format that profiler report can read. A file that is named twice counts twice. The
        header of the report notes how the profiles differ (processes, programs, intervals, ...). The file of --out may be one
        of the inputs if it is a .pb.gz; it is replaced only if everything succeeds.
      TEXT

      private

      def define(parser)
        parser.on("-o", "--out FILE", "file to write; its extension selects the format; - is stdout, as pprof " \
                                      "(default merged-DATE-TIME.pb.gz, whose name is printed)") { |file| @out = file }
        trim_option(parser)
        json_option(parser)
      end

      def call(files)
        raise UsageError, "no FILE given (usage: profiler #{USAGE})" if files.empty?

        out = @out || Time.now.strftime("merged-%Y%m%d-%H%M%S.pb.gz")
        write(out, (out == TO_STDOUT ? "pprof" : nil), inputs: files) { Profile.merge(*Progress.new.each("reading", files) { |file| read(file) }) }
        puts out unless @out || @json
        0
      end
    end
  end
end
