# frozen_string_literal: true

require_relative "../control/client"
require_relative "attaching"
require_relative "command"
require_relative "files"
require_relative "signals"
require_relative "trace/seen"

module Profiler
  module CLI
    # +profiler trace PID METHOD+: counts and times the calls of one method in a running process.
    class Trace < Command
      include Attaching
      include Files
      include Signals

      SUMMARY = "Counts and times every call of a method in a running process."
      USAGE = "trace [options] PID METHOD"
      EXAMPLES = <<~TEXT
        profiler trace 4711 'Order#save'
        profiler trace --for 10 4711 'ActiveRecord::Base.connection'
        profiler trace --for 10 4711 'Order#*'
        profiler trace --calls --limit 1 --max-overhead 1 4711 'Order#save'
        profiler trace --calls --limit 100 --max-overhead 1 --out save.callgrind 4711 'Order#save'
        profiler trace --limit 100 --json 4711 'Order#save' | jq .percentiles_ns
        profiler trace --when 'ms > 200 and user == 7' --args --show id 4711 'Order#save'
        profiler trace --show @state,result --when '@total > 1000' 4711 'Order#save'

        It traces until the process ends, or you press Ctrl-C. All other code of the process runs as before, except for a C
        function such as IO#write: then each call of any C function, and each operator such as +, takes about 0.1 us longer.
        profiler ps lists the processes.

        A * stands for any characters: each such method that the class itself defines is traced, and has a line of its own in the
        result. --max-overhead applies to all of them together, and --limit to each.

        With --calls, a hook runs at each call and return in the process, which slows all of it down. --max-overhead limits that.

        After a trace of a C function, or one with --calls, code that only computes takes about twice as long as before, until the process
        ends. YJIT does not compile it again. Restart the process if that matters.

        With --args, --return, --show, --lines, --save or --when, it also prints a line for each call, at most 100 a second. Values are shown
        as their classes and sizes, unless --show names them.

        A condition compares names with numbers and 'texts', and combines comparisons with and, or, not and parentheses. The names
        are ms, running_ms, waiting_ms, gvl_ms and gc_ms; raised, returned and self (class names); result, arguments, instance
        variables such as @total, parts such as env[PATH_INFO]; and labels.
      TEXT

      # The allowed seconds.
      SECONDS = (0.1..86_400).freeze
      # The seconds between two checks of whether the trace still runs.
      PAUSE = 0.5
      private_constant :SECONDS, :PAUSE

      def initialize
        super
        @options = {}
      end

      private

      def define(parser)
        parser.on("--for SECONDS", "stop after SECONDS") { |text| @seconds = seconds("--for", text, SECONDS) }
        parser.on("-o", "--out FILE", "write the result to FILE instead of stdout: as JSON if it ends in .json, for KCachegrind if in .callgrind (needs --calls), else as text") { |file| @out = file }
        parser.on("--limit CALLS", "stop after CALLS calls of each method") { |text| @options[:limit] = whole_number("--limit", text, "a number of calls", 1..) }
        parser.on("--max-overhead SHARE", "stop when tracing takes more than this share of a core (default 0.05)") { |text| @options[:max_overhead] = share(text) }
        parser.on("--args", "print a line for each call, with its arguments") { @options[:args] = true }
        parser.on("--return", "print a line for each call, with what it returned") { @options[:returns] = true }
        parser.on("--show NAMES", Array, "also show the values of these names, separated by commas: arguments, result, message (of the exception), @instance_variables, parts such as env[PATH_INFO], labels, or self (the class)") { |names| @options[:show] = names }
        parser.on("--lines", "print the lines that each call ran, with their times and the variables that they changed") { @options[:lines] = true }
        parser.on("--when CONDITION", "print a line only for calls such as 'ms > 200' or 'raised' (--limit counts these)") { |text| @options[:when] = text }
        parser.on("--calls", "also count and time each function that runs inside the method (raise --max-overhead for it)") { @options[:calls] = true }
        parser.on("--rows N", "functions that --calls lists; 0 for all (default 30)") { |text| @rows = whole_number("--rows", text, "a number of functions", 0..999_999_999) }
        parser.on("--save", "make the flight recorder of the process save a file for each of these calls") { @options[:save] = true }
        attach_option(parser)
        parser.on("--json", "print JSON; times are nanoseconds") { @json = true }
      end

      # The form of the result.
      def form = { json: json?, callgrind: callgrind?, columns: columns, rows: @rows }.compact

      def json? = @json || (@out ? @out.end_with?(".json") : false)

      def callgrind? = @out&.end_with?(".callgrind")

      # Checks the file before the trace begins.
      def output
        return unless @out
        raise UsageError, "--out #{@out} needs --calls, which counts the calls in it" if callgrind? && !@options[:calls]
        raise UsageError, "--out #{@out} is not JSON: leave out --json" if callgrind? && @json

        load_profiler
        checked(@out) { Output.new(@out, format: :json) } # all are bytes to it
      end

      def share(text)
        Float(text, exception: false) or raise UsageError, "--max-overhead #{text.inspect} is not a share of a core, such as 0.05"
      end

      def call(arguments)
        process, method = expected(arguments, 2, "one PID and one METHOD", PS_HINT)

        @output = output
        client = client_of(process)
        trace(client, method)
        0
      rescue Control::Client::Failed => e
        raise Failure, e.message
      ensure
        client&.close
      end

      def trace(client, method)
        until_a_signal do |signal|
          reply, = client.ask({ do: "trace", method: method, **form, **@options })
          announce(reply, method) if @output || !json?
          @seen = Seen.new(client, reply["trace"], form)
          wait(client, signal) or put(*@seen.result)
        end
      rescue Control::Client::Gone
        raise unless @seen

        lost
      end

      # Prints or writes the result. If the process has ended, the reason is printed too.
      def put(text, reason = nil)
        text = "#{Control::Client.harmless(text)}#{"\n" if json?}"
        @output ? write(text) : $stdout.write(text)
        CLI.complain("#{Control::Client.harmless(reason)}: this is the result until then") if reason
        true
      end

      # Writes the result to the file. If that fails, prints it, because it cannot be requested again.
      def write(text)
        checked(@out) { @output.replace(text) }
        CLI.complain("wrote #{@out}")
      rescue Failure
        $stdout.write(text)
        raise
      end

      def announce(reply, method)
        name = reply["name"].to_s
        CLI.complain("tracing #{Control::Client.harmless(name)}#{" until Ctrl-C" unless @seconds || @options[:limit]}")
        asked, owner = [method.delete_prefix("::"), name].map { |text| text[/\A(.*)[#.]/, 1].to_s }
        if asked != owner
          CLI.complain("#{Control::Client.harmless("the method is defined in #{owner}, so calls on classes other than #{asked} count too")} (--when \"self == '#{asked}'\" prints those on #{asked})")
        end
        CLI.complain(Control::Client.harmless(reply["aftermath"])) if reply["aftermath"].is_a?(String)
        labels = Array(reply["labels"]).grep(String)
        return if labels.empty?

        CLI.complain("#{Control::Client.harmless(labels.join(", "))} #{labels.one? ? "is not an argument of the method, so it is read as a label" : "are not arguments of the method, so they are read as labels"}")
      end

      # Waits until the trace, its time or the process ends, or a signal arrives. Prints the lines of the log as they come.
      #
      # @return [Boolean] whether the result was printed as well, because the process has sent it by itself
      def wait(client, signal)
        till = @seconds && now + @seconds
        while (left = till ? till - now : PAUSE).positive?
          reason = client.gone_within?([left, PAUSE].min, signal) ? @seen.farewell : @seen.ask { |lines| show(lines) }
          return put(*reason) if reason
          return false if signal.wait_readable(0) || !@seen.running?
        end
        false
      end

      def show(lines)
        lines.each { |line| $stdout.write(Control::Client.harmless(line), "\n") }
        $stdout.flush if lines.any?
      end

      # Prints the last copy of the result, or reports that it is lost, because the process ended without sending it.
      def lost
        gone = "the process was killed or has crashed"
        raise Failure, "#{gone}, so the result is lost#{": #{@seen.calls_at}" if @seen.calls}" unless @seen.copy

        put(@seen.copy)
        $stdout.flush
        raise Failure, "#{gone}: this is the result as of #{@seen.copied_at}; #{@seen.calls_at}"
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
