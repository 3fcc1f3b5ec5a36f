# frozen_string_literal: true

require_relative "color"
require_relative "command"
require_relative "session_options"
require_relative "top/screen"

module Profiler
  module CLI
    # +profiler top PID+: what a running process does now, on a screen that changes.
    class Top < Command
      include Color
      include SessionOptions

      SUMMARY = "Shows what a running process is doing, refreshed every second."
      USAGE = "top [options] PID"
      EXAMPLES = <<~TEXT
        profiler top 4711
        profiler top --mode allocations --by class 4711
        profiler top --once --json --window 5 4711

        Keys select the rows: m methods, l lines, t threads, s states, c classes, b the next label. o toggles between self and
        total, y shows the next sample type, / filters. The arrow keys select a row, and Enter shows its callers, callees and
        lines. p pauses, w writes what was seen to a file, d shows a dump, h shows the keys, q quits.

        A mark before a row (an arrow, or ^ and v) means that its share rose or fell by 5% or more.
      TEXT

      # The allowed length of a window, in seconds.
      WINDOWS = (0.1..3_600).freeze
      # Samples per second: enough for a screen, and at most one percent of a core.
      FREQUENCY = "100"

      OPTIONS = OF_RUNNING.merge(
        "--interval US" => [Settings::INTERVAL, "microseconds between two samples of a thread"],
        "--frequency HZ" => [Settings::FREQUENCY, "samples per second, instead of --interval (default #{FREQUENCY})"]
      ).freeze
      private_constant :OPTIONS

      def initialize
        super
        @env[Settings::MODE] = nil
        @window = 1.0
        @by = "methods"
      end

      private

      def define(parser)
        variable_options(parser, OPTIONS)
        type_option(parser)
        parser.on("--total", "sort by total weight, which includes callees") { @total = true }
        parser.on("--by ROWS", "what the rows are: methods (default), lines, thread, state, class, or a label") { |by| @by = non_empty("--by", by) }
        parser.on("--window SECONDS", "seconds that a screen covers (default 1)") { |text| @window = seconds("--window", text, WINDOWS) }
        parser.on("--once", "print one window and exit") { @once = true }
        attach_option(parser)
        parser.on("--json", "with --once, print JSON: pid, seconds, type, total, rows") { @json = true }
        color_option(parser)
      end

      def call(arguments)
        process = one_process(arguments)
        raise UsageError, "--json needs --once" if @json && !@once
        raise UsageError, "the screen needs a terminal; without one, pass --once" unless @once || ($stdin.tty? && $stdout.tty?)

        load_profiler
        @colored = Color.enabled?(@color || "auto", $stdout)
        with_client(process) do |client|
          who, = client.ask(do: "who")
          @env[Settings::MODE] ||= measures_waits?(who) ? "cpu,wall" : "cpu"
          @env[Settings::FREQUENCY] ||= FREQUENCY unless @env[Settings::INTERVAL] || of_objects?
          check
          watch(client, who, begin_in(client, bound: true))
        end
        0
      end

      # Returns whether waits are measured in that process, so that no system call is ended for them.
      def measures_waits?(who)
        version = who.fetch("ruby")[/\d+\.\d+/] || "0"
        (version.split(".").map(&:to_i) <=> [3, 3]) >= 0
      end

      def of_objects?
        (@env[Settings::MODE].split(",") - %w[allocations heap object retained native]).empty?
      end

      def watch(client, who, session)
        windows = Windows.new(client, session, @window)
        view = RankingView.new(by: @by, type: @type, total: @total)
        return once(windows, view, who) if @once

        Screen.new(windows, view, who, @colored) { Control::Client.of(client.path) }.run
      end

      def once(windows, view, who)
        window = windows.next
        lines = view.table(window, nil, height: 0, columns: columns, color: @colored)
        return print_json(**view.to_h(window), pid: who.fetch("pid")) if @json

        puts view.summary(window), lines
      rescue ArgumentError => e
        raise UsageError, e.message
      end
    end
  end
end
