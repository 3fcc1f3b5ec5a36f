# frozen_string_literal: true

require_relative "color"
require_relative "command"
require_relative "options"
require_relative "remote"

module Profiler
  module CLI
    # +profiler stop PID+: ends a session in a running process, and writes its profile here.
    class Stop < Command
      include Color
      include Options
      include Remote

      SUMMARY = "Stops a session in a running process, and writes its profile here."
      USAGE = "stop [options] PID"
      EXAMPLES = <<~TEXT
        profiler stop 4711
        profiler stop --session 2 -o it.html -o it.pb.gz 4711

        The session is one that profiler start began, by default the newest.
      TEXT
      REQUEST = "stop"

      def initialize
        super
        @outs = []
      end

      private

      def define(parser)
        out_option(parser)
        parser.on("--format FORMAT", "format of the files, whatever their extensions") { |format| @format = format }
        parser.on("--session N", Integer, "the number that profiler start printed") { |number| @session = number }
        parser.on("-q", "--quiet", "do not print the summary") { @quiet = true }
        color_option(parser)
      end

      def call(arguments)
        process = one_process(arguments)
        load_profiler
        @outs << Autoload::Settings.default_out(@format) if @outs.empty?
        with_client(process) do |client|
          profile = receive(client, { do: self.class::REQUEST, session: @session }.compact, @outs, @format)
          say_answer(profile, @outs) unless @quiet
        end
        0
      end
    end
  end
end
