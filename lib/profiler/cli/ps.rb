# frozen_string_literal: true

require_relative "../control/client"
require_relative "command"

module Profiler
  module CLI
    # +profiler ps+: the processes of this user that can be looked into.
    class Ps < Command
      SUMMARY = "Lists the running processes that can be inspected."
      USAGE = "ps [options]"
      EXAMPLES = <<~TEXT
        profiler ps
        profiler ps --json | jq '.[].pid'

        These are the processes that top, dump, start, stop, snapshot and record --pid can reach: they were started by
        profiler record --control, or with PROFILER_CONTROL=1 and profiler/autoload, or call Profiler.control. Root sees the
        processes of all users.
      TEXT
      # The largest number of characters in a cell.
      LONGEST = 4_096
      TITLES = %w[PID AGE THREADS SESSIONS RUBY PROGRAM].freeze
      private_constant :LONGEST, :TITLES

      private

      def define(parser)
        parser.on("--json", "print JSON: for each process pid, program, ruby, age_s, threads, sessions, socket") { @json = true }
      end

      def call(arguments)
        expected(arguments, 0, "no arguments")
        # A process that ends meanwhile is left out.
        answered, silent = Control::Client.ask_all(do: "who")
        found = answered.map { |path, who| who.merge("socket" => path) }.sort_by { |it| it.fetch("pid") }
        @json ? print_json(found) : print_table(found)
        silent.each { |path| CLI.complain("no answer from #{path} in #{Control::Client::LISTING} s: the process may be stopped") }
        0
      end

      def print_table(found)
        return CLI.complain("no process with a control socket was found (see profiler ps --help)") if found.empty?

        rows = [TITLES, *found.map { |it| row(it) }]
        widths = rows.transpose.map { |column| column.map(&:size).max }
        rows.each do |*cells, program|
          line = "#{cells.zip(widths).map { |cell, width| cell.rjust(width) }.join("  ")}  #{program}"
          puts $stdout.tty? ? line[0, columns] : line
        end
      end

      def row(who)
        version = who.fetch("ruby")[/\d+\.\d+\.\d+\S*/] || "?"
        cells = [who.fetch("pid").to_s, age(who["age_s"]), who.fetch("threads").to_s, (who["sessions"] || "?").to_s, version, who.fetch("program")]
        cells.map { |it| Control::Client.harmless(it[0, LONGEST]).tr("\n", " ") }
      end

      def age(seconds)
        case seconds
        when ->(it) { !it.is_a?(Numeric) || !it.finite? } then "?"
        when ...100 then "#{seconds.round} s"
        when ...6_000 then "#{(seconds / 60).round} min"
        when ...360_000 then "#{(seconds / 3_600).round} h"
        else "#{(seconds / 86_400).round} d"
        end
      end
    end
  end
end
