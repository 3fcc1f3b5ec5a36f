# frozen_string_literal: true

require_relative "../doctor"
require_relative "color"
require_relative "command"

module Profiler
  module CLI
    # +profiler doctor+: whether, how finely and with what overhead this Ruby can be profiled on this machine.
    class Doctor < Command
      include Color

      SUMMARY = "Checks whether this Ruby can be profiled, how finely and at what overhead."
      USAGE = "doctor [options]"
      EXAMPLES = <<~TEXT
        profiler doctor
        RUBYOPT=--yjit profiler doctor
        bundle exec profiler doctor --json | jq .engines

        Run it in the environment and as the user of the program that you want to profile: both matter. The exit status is 0 if
        it can be profiled, 1 if not. Lines with ! are warnings; lines with x are the reasons why it cannot. The overhead is that
        of the profiler's handler and collector, without the time that the kernel takes to deliver a signal.
      TEXT

      MARKS = { nil => " ", warning: "!", problem: "x" }.freeze
      COLORS = { warning: "33", problem: "31", ok: "32" }.freeze
      OWNERS = {
        "nobody" => "not handled", "us" => "handled by the profiler",
        "foreign" => "handled by another profiler or trap(\"PROF\")"
      }.freeze
      UNKNOWN = "unknown"

      private

      def define(parser)
        parser.on("--json", "print JSON: ok, problems, warnings, and the facts; times are nanoseconds") { @json = true }
        color_option(parser)
      end

      def call(arguments)
        expected(arguments, 0, "no arguments")
        choose_color
        facts = Profiler.const_get(:Doctor).examine
        @json ? print_json(facts) : print_text(facts)
        facts[:ok] ? 0 : 1
      end

      def print_text(facts)
        lines = lines_of(facts)
        width = lines.map { |name, *| name.size }.max
        lines.each do |name, text, level|
          broken("#{MARKS[level]} #{name.ljust(width)}  #{text}".rstrip).each { |line| puts painted(line, level) }
        end
        puts
        puts facts[:ok] ? painted("This Ruby can be profiled here.", :ok) : painted("This Ruby cannot be profiled here.", :problem)
      end

      # @return [Array] name, text and severity
      def lines_of(facts)
        [
          ["profiler", facts[:profiler]], ruby(facts[:ruby]), *jits(facts), walking(facts[:walking]), waits(facts[:waits]), objects(facts[:objects]),
          kernel(facts[:kernel]), ["interval", intervals(facts[:intervals])],
          ["SIGPROF", OWNERS.fetch(facts[:signal], UNKNOWN), facts[:signal] == "foreign" ? :problem : nil],
          *engines(facts), cost(facts[:cost]),
          # As Ruby literals, so that no value can break a line or a terminal.
          *facts[:environment].map { |name, value| [name, value.inspect] },
          *facts[:warnings].map { |text| ["warning", text, :warning] },
          *facts[:problems].map { |text| ["problem", text, :problem] }
        ]
      end

      def ruby(facts)
        ["Ruby", "#{facts[:engine]} #{facts[:version]} #{facts[:platform]}, #{facts[:unsupported] ? "not supported" : "supported"}",
         facts[:unsupported] ? :problem : nil]
      end

      def jits(facts)
        facts[:jits].map do |jit|
          walkable = "; stacks can be sampled" if facts[:walking][:anywhere]
          off = "off (to check a program that enables it: RUBYOPT=--#{jit[:name].downcase} profiler doctor)"
          [jit[:name], !jit[:available] ? "not in this Ruby" : jit[:enabled] ? "on#{walkable}" : off]
        end
      end

      def walking(facts)
        case facts[:anywhere]
        when nil then ["stacks", UNKNOWN]
        when true then ["stacks", "can be sampled at any instruction"]
        else ["stacks", "can be sampled only where Ruby checks its interrupts", :warning] # the engines say why
        end
      end

      def waits(facts)
        case facts[:seen]
        when "measured" then ["waits", "measured exactly"]
        when "sampled" then ["waits", "sampled by signals, which can end a system call with EINTR"]
        else facts[:reason] ? ["waits", "mode: :wall is not available: #{facts[:reason]}", :warning] : ["waits", UNKNOWN]
        end
      end

      def objects(facts)
        return ["objects", "allocations can be sampled; each allocation then calls a hook"] if facts[:seen]

        facts[:reason] ? ["objects", "modes :allocations and :heap are not available: #{facts[:reason]}", :warning] : ["objects", UNKNOWN]
      end

      def kernel(facts)
        ["kernel tick", facts[:tick_ns] ? "#{time(facts[:tick_ns])} (#{facts[:hz]} Hz)" : UNKNOWN]
      end

      def intervals(all)
        return UNKNOWN unless all.all? { |it| it[:effective_ns] }

        texts = all.map { |it| "#{time(it[:requested_ns])} requested, #{time(it[:effective_ns])} effective" }
        coarse = all.any? { |it| it[:effective_ns] > it[:requested_ns] }
        "#{texts.join("; ")} of CPU#{": timers fire only at kernel ticks" if coarse}"
      end

      def engines(facts)
        chosen, requested = facts[:engine].values_at(:chosen, :requested)
        lines = facts[:engines].map do |engine|
          text = engine[:available] ? "available" : "not available: #{engine[:reason]}"
          text += ", chosen" if engine[:name] == chosen
          text += "; #{engine[:note]}" if engine[:note]
          [engine[:name], text, engine[:available] && !engine[:note] ? nil : :warning]
        end
        by = "#{Profiler.const_get(:Doctor)::ENGINE}=#{requested.inspect}" if requested
        how = by ? "requested by #{by}" : "the default; #{Profiler.const_get(:Doctor)::ENGINE}=NAME selects another"
        lines << ["engine", chosen ? "#{chosen}, #{how}" : "none#{" (#{by})" if by}", chosen ? nil : :problem]
      end

      def cost(facts)
        return ["overhead", UNKNOWN] unless facts

        ["overhead", format("about %.1f us per sample of %d frames, %.2f %% of CPU at %d samples per second (measured on %d samples)",
                        facts[:sample_ns] / 1e3, facts[:frames], facts[:percent], facts[:samples_per_second], facts[:samples])]
      end

      def time(nanoseconds)
        return "#{nanoseconds / 1_000} us" if nanoseconds < 1_000_000

        "#{format("%.1f", nanoseconds / 1e6).delete_suffix(".0")} ms"
      end

      def painted(text, level)
        COLORS[level] ? paint(text, COLORS[level]) : text
      end
    end
  end
end
