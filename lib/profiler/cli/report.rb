# frozen_string_literal: true

require_relative "color"
require_relative "files"
require_relative "verb"

module Profiler
  module CLI
    # +profiler report FILE+: the table of the heaviest functions, or of whose the time is.
    class Report < Verb
      include Files

      SUMMARY = "Shows the heaviest functions of a recorded profile."
      USAGE = "report FILE [options]"
      EXAMPLES = <<~TEXT
        profiler report profile.pb.gz
        profiler report profile.pb.gz --limit 10 --sort-total
        profiler report profile.pb.gz --by thread
        profiler report profile.pb.gz --color=always | less -R
        profiler report profile.pb.gz --json | jq -r '.top[] | "\\(.self) \\(.name)"'
      TEXT

      def initialize
        super
        @limit = "30"
        @sort = :self
        @json = false
        @color = "auto"
      end

      private

      def define(parser)
        trim_option(parser)
        gc_option(parser)
        parser.on("--limit N", "functions or values to show; 0 for all (default 30)") { |value| @limit = value }
        parser.on("--sort-total", "order by the time of a function and all it called, not by its own") { @sort = :total }
        parser.on("--by LABEL", "list the values of a label, or thread or state, and what each is busy with") { |label| @by = label }
        parser.on("--json", "print JSON: file, sort, meta, stats and top (with --by: file, by, meta, stats",
                  "and values); times are nanoseconds") { @json = true }
        parser.on("--color[=WHEN]", "auto (on a terminal, without NO_COLOR), always or never") do |value|
          @color = value || "always"
        end
      end

      def call(arguments)
        path = file_of(arguments)
        limit = number(@limit)
        color = Color.enabled?(@color)
        raise UsageError, "--sort-total orders functions, but --by lists values: give one of them" if @by && @sort == :total

        profile = read(path)
        puts @json ? json(path, profile, limit) : profile.report(limit: limit, sort: @sort, color: color, by: @by)
        0
      rescue ArgumentError => e # the label: all else is checked
        raise Failure, "#{path}: #{e.message}"
      end

      def file_of(arguments)
        return arguments.first if arguments.size == 1

        problem = arguments.empty? ? "which file?" : "one file at a time, not #{arguments.size}: #{arguments.join(" ")}"
        raise UsageError, "#{problem} (profiler #{USAGE})"
      end

      def number(text)
        return Integer(text, 10) if text.match?(/\A\d+\z/)

        raise UsageError, "--limit #{text.inspect} is not a number from 0 (all) on"
      end

      def json(path, profile, limit)
        require "json"
        taken = { meta: profile.meta, stats: profile.stats }
        JSON.pretty_generate(
          if @by
            { file: path, by: @by, **taken, values: profile.by(@by, limit: limit) }
          else
            { file: path, sort: @sort, **taken, top: profile.top(limit: limit, sort: @sort) }
          end
        )
      end
    end
  end
end
