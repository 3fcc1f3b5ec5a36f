# frozen_string_literal: true

require_relative "color"
require_relative "limit"
require_relative "options"
require_relative "command"

module Profiler
  module CLI
    # +profiler check FILE...+: an exit status for CI, from limits and a baseline.
    class Check < Command
      include Color
      include Options

      SUMMARY = "Fails if functions exceed a limit or a baseline."
      USAGE = "check [options] [FILE[,FILE...]]"
      EXAMPLES = <<~TEXT
        profiler check cpu.pb.gz --max 'Order#save: 5%' --max 'JSON.parse: 200ms'
        profiler check cpu.pb.gz --max '/Logger/: 1%'
        profiler check new1.pb.gz,new2.pb.gz --baseline old1.pb.gz --tolerance 10%
        profiler check cpu.pb.gz --baseline main.pb.gz --md >> "$GITHUB_STEP_SUMMARY"

        Pass --max, --baseline or both. Without FILE, the newest profile in this directory is checked. If there are several
        files, their mean counts.

        A limit applies to the total weight of a function. It is a share of the profile (5%), a time (200ms, 1.5s, 30us), a size
        (10MB, 64KiB), or a plain number in the unit of the type. /RE/ limits each matching function. The check against a
        baseline fails if a function takes a significantly larger share of the run and also weighs more (see profiler diff), both
        by more than the tolerance.

        The exit status is 0 if everything passes, 1 if a limit or the baseline is exceeded, 2 for wrong usage, and 3 if a file
        cannot be read or compared.
      TEXT

      def initialize
        super
        @limits = []
        @tolerance = "5%"
        @sort = :self
      end

      private

      def define(parser)
        parser.on("--max LIMIT", "limit for a function: 'METHOD: 5%', 'METHOD: 200ms' or '/RE/: 1%'; may be repeated") { |text| @limits << Limit.new(text) }
        parser.on("--baseline FILES", "profiles to compare with, separated by commas; fails if a function is slower") { |text| @baseline = text }
        parser.on("--tolerance SHARE", "allowed growth over the baseline (default 5%)") { |text| @tolerance = text }
        parser.on("--strict", "also fail if a --max matches no function of the profiles, or if a recorded run failed") { @strict = true }
        filter_options(parser)
        parser.on("--absolute", "compare weights instead of shares of the run") { @absolute = true }
        parser.on("--sort-total", "compare total weights, which include callees") { @sort = :total }
        full_paths_option(parser)
        parser.on("--json", "print JSON: ok, headline, failed, limits and regressions") { @json = true }
        parser.on("--md", "print Markdown for GitHub") { @md = true }
        color_option(parser)
      end

      def call(arguments)
        raise UsageError, "nothing to check: pass --max, --baseline or both" if @limits.empty? && !@baseline

        files = one_file(arguments)

        tolerance = share("--tolerance", @tolerance)
        choose_color
        profiles = runs(files)
        @shown = type_of(profiles.first)
        limits = with_file_in_errors(files) { @limits.flat_map { |it| it.check(profiles, @type) } }
        baseline = runs(@baseline) if @baseline
        absent = absent([*profiles, *baseline])
        slower = baseline ? with_file_in_errors(files) { slower(baseline, profiles, tolerance) } : []
        @failed = profiles.filter_map { |profile| profile.meta[:metadata]["ended"] }
        ok = limits.all? { |it| it[:ok] } && slower.empty? && !(@strict && (absent || @failed.any?))
        if @json then print_json(ok: ok, type: @shown, headline: @headline, failed: @failed, limits: limits, regressions: slower)
        else
          table = Native.diff_text(baseline, profiles, { tolerance: tolerance, markdown: @md, **diff_options }) if baseline
          puts(@md ? markdown(limits, table, ok) : lines(limits, table, ok))
        end
        ok ? 0 : 1
      rescue Failure => e
        raise Failure.new(e.message, status: 3)
      end

      # Reports limits for functions that no profile has, because they were renamed or misspelt.
      #
      # @return [Boolean] whether there is one
      def absent(profiles)
        limits = @limits.reject { |it| it.any_in?(profiles) }
        limits.each { |it| CLI.complain("--max #{it}: these profiles have no such function") }
        limits.any?
      end

      def slower(baseline, profiles, tolerance)
        found = Profile.diff(baseline, profiles, type: @type, sort: @sort, absolute: @absolute, tolerance: tolerance)
        @headline = found[:headline]
        found[:changes].select { |it| it[:slower] }
      end

      def lines(limits, table, ok)
        [*limits.map { |it| limit_line(it) }, *("" if limits.any? && table), *table, "", "#{ok ? paint("passed", 32) : paint("FAILED", 31)}#{failures(ok)}"]
      end

      # Qualifies a verdict if a run that was checked failed.
      def failures(passed)
        ", #{passed ? "but" : "and"} #{@failed.size == 1 ? "a run" : "#{@failed.size} runs"} failed: #{@failed.uniq.map { |it| clean(it) }.join(", ")}" if @failed.any?
      end

      def limit_line(limit)
        mark = limit[:ok] ? paint("ok  ", 32) : paint("over", 31)
        taken = "#{taken_text(limit).rjust(10)} of #{limit[:limit]}"
        "#{mark}  #{taken}  #{fit(clean(limit[:name]), columns - taken.size - 8)}"
      end

      def taken_text(limit)
        limit[:share] ? format("%.2f%%", limit[:share] * 100) : amount(@shown, limit[:weight].round)
      end

      def markdown(limits, table, ok)
        lines = ["### Profile: #{ok ? "passed" : "**failed**"}#{failures(ok)}", ""]
        if limits.any?
          lines += ["| | takes | allowed | function |", "|---|--:|--:|---|"]
          lines += limits.map { |it| "| #{it[:ok] ? "ok" : "**over**"} | #{taken_text(it)} | #{it[:limit]} | #{Native.code(it[:name])} |" } << ""
        end
        lines + [*table]
      end
    end
  end
end
