# frozen_string_literal: true

require_relative "workloads"

# rake bench:ticks
module Bench
  TICK_LIMIT = 1.1     # the whole cost of a sample, times that of the floor of the same engine
  SWITCH_LIMIT = 1.03  # the wall clock of a program that releases the GVL all the time, with / without

  module Run
    # The groups that take turns: the engines, each with its floor first.
    GROUPS = [["null", "stackprof wall"], ["floor perf", "ours perf"], ["floor ticker", "ours ticker"], ["floor wall", "ours wall"]].freeze

    module_function

    def ticks
      report = Report.new("ticks", "What ticks cost, engine by engine")
      wanted = Regexp.new(ENV.fetch("BENCH_ROWS", ""))
      here = ["null", *Bench.available("stackprof wall"), *GROUPS[1], *GROUPS[2], *(GROUPS[3] if Engines.wall?)]
      groups = GROUPS.map { |arms| (arms & here).grep(wanted).any? ? arms & here : [] }
      report.text("One thread that computes, at a depth of 50, #{(SECONDS * 1_000).round} ms at a time, between two that are not profiled: medians of " \
                  "#{pairs(80)} rounds, as this machine may change its speed from second to second. A sample's cost is that of everything, the threads " \
                  "of the profilers too. `null` is the noise.")
      [1_000, 100].each { |interval_us| ticks_at(report, interval_us, groups) }
      switches(report, here & ["null", "stackprof wall", "floor wall", "ours wall"]) if wanted === "switches"
      report.publish
    end

    def ticks_at(report, interval_us, groups)
      rows = groups.reject(&:empty?).flat_map do |arms|
        blocks = child(:turns, "depth50", arms, pairs(80), SECONDS, env: { "BENCH_INTERVAL" => interval_us.to_s })["blocks"]
        arms.map do |arm|
          samples = blocks.sum { |block| block[arm]["samples"] } / blocks.sum { |entry| entry[arm]["cpu"] }
          [arm, samples.round, *%w[cpu wall].map { |of| slowdown(blocks, arm, of).text(3) }, *sample_costs(blocks, arm, arms.first)]
        end
      end
      report.text("Requested: #{1_000_000 / interval_us} a second. The demand: a sample costs at most #{TICK_LIMIT} x the floor's.")
      report.table(["", "samples a second", "CPU, with / without", "wall clock, with / without", "us a sample", "times its floor"], rows)
    end

    def slowdown(blocks, arm, of)
      Stats.figure(blocks) { |some| Stats.median(some.map { |block| block[arm][of] / block[arm]["off"][of] }) }
    end

    def sample_costs(blocks, arm, floor)
      return ["0 (no samples)"] * 2 if arm == "null"

      each = Stats.figure(blocks) { |some| sample_cost(some, arm) * 1e6 }.text(1)
      return [each, "0 (no floor)"] unless arm.start_with?("ours")

      ratio = Stats.figure(blocks) { |some| sample_cost(some, arm) / sample_cost(some, floor) }
      [each, "#{ratio.text(2)}, #{ratio.verdict(TICK_LIMIT)}"]
    end

    def sample_cost(blocks, arm)
      Stats.median(blocks.map { |block| block[arm]["cpu"] - block[arm]["off"]["cpu"] }) / Stats.mean(blocks, arm, "samples")
    end

    def switches(report, arms)
      found = child(:turns, "switches", arms, pairs(80), SECONDS)
      blocks = found["blocks"]
      rate = Stats.median(blocks.flat_map { |block| block.values.map { |on| 2 * found["rounds"] / on["off"]["wall"] } })
      report.text("A thread that releases the GVL and takes it back #{rate.round(-3)} times a second, one tick in #{INTERVAL_US} us. The demand: it " \
                  "loses at most #{((SWITCH_LIMIT - 1) * 100).round} %.")
      rows = arms.map do |arm|
        wall, cpu = %w[wall cpu].map { |of| slowdown(blocks, arm, of) }
        ["switches, #{arm}", "#{wall.text(3)}#{", #{wall.verdict(SWITCH_LIMIT)}" if arm.start_with?("ours")}", cpu.text(3)]
      end
      report.table(["", "wall clock, with / without", "CPU, with / without"], rows)
    end
  end
end
