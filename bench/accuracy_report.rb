# frozen_string_literal: true

require_relative "accuracy"
require_relative "engines"
require_relative "families_report"
require_relative "stats"

# rake bench:accuracy
module Bench
  module Run
    module_function

    def accuracy
      report = Report.new("accuracy", "How far from the truth", clock: "new seeds in each run")
      seconds = SECONDS * 10
      report.text("Mean of #{pairs(20)} runs of #{seconds.round(1)} s: the total-variation distance of the profile's shares from those that the program " \
                  "measured by its own clocks, one tick in #{INTERVAL_US} us requested. Chance is the distance of as many independent samples.")
      rounds = Accuracy::CASES.keys.to_h { |name| [name, accuracy_rounds(name, seconds)] }
      running = Accuracy::RUNNING.keys.map { |name| accuracy_row(name, rounds[name], ratio: CHANCE_LIMIT) }
      report.text("Running code is sampled. The demand: at most #{CHANCE_LIMIT} x chance.")
      report.table(accuracy_header, running)
      measured = Accuracy::MEASURED.keys.map { |name| accuracy_row(name, rounds[name], distance: DISTANCE_LIMIT) }
      report.text("GC and waits are measured; of the waits the stacks are sampled, the longer the likelier. The demand: at most #{DISTANCE_LIMIT}.")
      report.table(accuracy_header, measured)
      families(report)
      report.text("Taken with #{rounds.values.flatten.flat_map(&:values).map { |run| run["engine"] }.uniq.sort.join(", ")}")
      report.publish
    end

    # Runs the rounds of a case. Each is the same program (its seed is chosen at random) under every profiler, each in a process of
    # its own. Where it matters, rounds that lost CPU to other processes are repeated, up to three times as many in all.
    def accuracy_rounds(name, seconds)
      return [] if (name.end_with?("wall") && !Engines.wall?) || !name.match?(ENV.fetch("BENCH_ROWS", ""))

      profilers = ["ours", *Bench.available("stackprof")]
      rounds = []
      (pairs(20) * 3).times do
        break if rounds.count { |round| quiet?(name, round) } >= pairs(20)

        seed = rand(1 << 30)
        rounds << profilers.shuffle.to_h { |profiler| [profiler, child(:accuracy, name, profiler, seed, seconds)] }
      end
      rounds.max_by(pairs(20)) { |round| quiet?(name, round) ? 1.0 : cpu_had(round) }
    end

    # Whether the round counts. Wall clock that other processes take falls on the kinds by chance, whatever the profiler.
    def quiet?(name, round)
      !Accuracy::BUSY.include?(name) || cpu_had(round) >= CPU_NEEDED
    end

    def cpu_had(round)
      round.values.map { |run| run["had"] }.min
    end

    def accuracy_header
      ["", "CPU had, %", "samples", "chance", "ours", "ours / chance", "stackprof: samples", "chance", "distance"]
    end

    def accuracy_row(name, rounds, ratio: nil, distance: nil)
      return [name, *["0 (not here)"] * 8] if rounds.empty?

      number, chance, ours = accuracy_figures(rounds, "ours")
      against = Stats.figure(rounds) { |some| some.sum { |round| apart(round["ours"]) } / some.sum { |entry| chance_of(entry["ours"]) } }
      [ours, against].each { |figure| figure.solid &&= rounds.all? { |round| quiet?(name, round) } }
      demand = ->(figure, limit) { limit ? ": #{figure.verdict(limit)}" : "" }
      peer = rounds.first["stackprof"] ? accuracy_figures(rounds, "stackprof") : ["0 (not here)"] * 3
      [name, (rounds.sum { |round| cpu_had(round) } * 100 / rounds.size).round, number, chance, ours.text(4) + demand.call(ours, distance), against.text(2) + demand.call(against, ratio),
       *peer.map { |entry| entry.is_a?(Figure) ? entry.text(4) : entry }]
    end

    # The mean number of samples of a run, the distance of as many by chance, and their actual distance.
    def accuracy_figures(rounds, profiler)
      runs = rounds.map { |round| round[profiler] }
      number = runs.sum { |run| run["samples"] }.fdiv(runs.size)
      chances = runs.map { |run| chance_of(run) }.select(&:finite?)
      chance = chances.empty? ? "0 (no sample)" : format("%.4f", chances.sum / chances.size)
      [number.round, chance, Stats.figure(runs) { |some| some.sum { |run| apart(run) } / some.size }]
    end

    def apart(run)
      Stats.distance(run["truth"], run["seen"])
    end

    def chance_of(run)
      Stats.chance(run["truth"], run["samples"])
    end
  end
end
