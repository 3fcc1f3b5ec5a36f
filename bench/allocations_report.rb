# frozen_string_literal: true

require_relative "allocations"

module Bench
  SELDOM_LIMIT_NS = 3  # an object over the empty hook, one in 100 or 1,000 sampled
  HEAP_LIMIT = 1.5     # CPU with :heap, times that with :allocations
  EACH_LIMIT_NS = 150  # an object over the empty hook, each one sampled

  module Run
    module_function

    def allocations
      report = Report.new("allocations", "To make an object, ns over a hook that does nothing")
      by_work = Allocations::WORK.keys.to_h { |work| [work, child(:allocations, work, pairs(300), SECONDS / 100)] }
      report.text("Median of the differences of #{pairs(300)} rounds, a slice of each contender in each; in brackets the 95 % interval. " \
                  "The CPU of the thread and of the collector count, that of starting and stopping does not.")
      arms = Allocations::ARMS.keys & by_work.values.first.first.keys - ["empty hook"]
      limits = { "ours, 1" => EACH_LIMIT_NS, "ours, 100" => SELDOM_LIMIT_NS, "ours, 1000" => SELDOM_LIMIT_NS }
      rows = arms.flat_map do |arm|
        figures = by_work.values.map { |rounds| Stats.figure(rounds) { |some| over_empty(some, arm) } }
        limit = limits[arm]
        [[arm, *figures.map { |figure| figure.text(1) }], *([["at most #{limit}", *figures.map { |entry| entry.verdict(limit) }]] if limit)]
      end
      report.table(["", *by_work.keys], rows)
      base = by_work.values.map { |rounds| Stats.median(rounds.map { |round| round["off"] }).round(1) }
      report.text("CPU of the whole, with / without (an object takes #{base.join(", ")} ns without)")
      report.table(["", *by_work.keys], (arms + ["empty hook"] - ["off"]).map do |arm|
        [arm, *by_work.values.map { |rounds| times(rounds, arm, "off").text(3) }]
      end)
      figures = by_work.values.map { |rounds| times(rounds, "ours, heap, 1000", "ours, 1000") }
      report.text("CPU with `:heap` / with `:allocations`, one in 1,000 sampled; at most #{HEAP_LIMIT}")
      report.table(["", *by_work.keys], [["heap / allocations", *figures.map { |figure| figure.text(3) }], ["demand", *figures.map { |entry| entry.verdict(HEAP_LIMIT) }]])
      report.publish
    end

    def times(rounds, arm, other)
      Stats.figure(rounds) { |some| Stats.median(some.map { |round| round[arm] / round[other] }) }
    end

    def over_empty(rounds, arm)
      Stats.median(rounds.map { |round| round[arm] - round["empty hook"] })
    end
  end
end
