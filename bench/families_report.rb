# frozen_string_literal: true

require_relative "engines"
require_relative "families"

# The second part of rake bench:accuracy: method by method.
module Bench
  module Run
    SAMPLED = %w[ruby c calls].freeze # their time can only be sampled, that of the others is measured
    FAMILY_INTERVALS = { 1_000 => 0.01, 10_000 => 0.02 }.freeze # us, and the largest error of a method whose time is measured

    module_function

    def families(report)
      seconds = SECONDS * 15
      rounds = [pairs(20) / 5, 1].max
      report.text("Method by method: programs of #{Families::NAMES} methods that are called in random order for #{Families::LENGTHS.begin / 1_000_000} to " \
                  "#{Families::LENGTHS.end / 1_000_000} ms; `calls` has #{Families::CALLED} that return at once. #{rounds} runs of #{seconds.round(1)} s a figure: the mean " \
                  "error of a method against its own clock, that of the worst, and in brackets the mean of as many independent samples, in %. `busy` is " \
                  "beside a busy loop on each core. The demand: at most #{CHANCE_LIMIT} x chance where code runs, and where it waits or is blocked at most " \
                  "#{FAMILY_INTERVALS.values.map { |limit| (limit * 100).round }.join(" % and ")} %, the worst method's.")
      header = ["", *family_columns.map { |interval, busy| "#{1_000_000 / interval} Hz#{", busy" if busy}" }]
      report.table(header, Families::ALL.product(family_modes).flat_map { |family, modes| family_rows(family, modes, rounds, seconds) })
    end

    def family_columns
      FAMILY_INTERVALS.keys.product([false, true])
    end

    def family_modes
      [%w[cpu], *(Engines.wall? ? [%w[wall], %w[cpu wall]] : [])]
    end

    # A row for each mode of a session that the family has anything to say about.
    def family_rows(family, modes, rounds, seconds)
      judged = modes.reject { |mode| mode == "cpu" && %w[blocked waiting].include?(family) }
      named = judged.to_h { |mode| [mode, "#{family}, #{mode}#{" of #{modes.join(",")}" if modes.size > 1}"] }
      named.select! { |_mode, name| name.match?(ENV.fetch("BENCH_ROWS", "")) }
      return [] if named.empty?

      runs = family_columns.map do |interval, busy|
        Array.new(rounds) { child(:families, family, modes.join(","), interval, rand(1 << 30), seconds, busy) }
      end
      named.map do |mode, name|
        [name, *family_columns.zip(runs).map { |(interval, _busy), some| family_cell(family, interval, some.map { |run| family_errors(family, mode, run) }) }]
      end
    end

    def family_errors(family, mode, run)
      errors, chance = Families.errors(run["methods"].fetch(mode), run["samples"], shares: family == "calls")
      [errors.values, chance]
    end

    def family_cell(family, interval, found)
      errors = found.flat_map(&:first)
      mean = errors.sum / errors.size
      chance = found.sum(&:last) / found.size
      met = SAMPLED.include?(family) ? mean <= chance * CHANCE_LIMIT : errors.max <= FAMILY_INTERVALS.fetch(interval) if family != "mixed"
      text = format("%.1f, worst %.1f (%.1f)", *[mean, errors.max, chance].map { |error| error * 100 })
      met.nil? ? text : "#{text}: #{met ? "met" : "MISSED"}"
    end
  end
end
