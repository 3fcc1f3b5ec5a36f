# frozen_string_literal: true

require_relative "eintr"
require_relative "engines"

# rake bench:eintr
module Bench
  module Run
    module_function

    def eintr
      report = Report.new("eintr", "System calls that a signal ends", clock: "`:wall` of both profilers")
      seconds = Float(ENV.fetch("BENCH_SECONDS", 10))
      arms = ["null", *Bench.available("stackprof wall"), "ours wall"]
      header = ["", *arms.map { |arm| arm == "null" ? "no profiler" : arm }]
      report.text("A thread sits in calls that wait #{(Eintr::WAIT_SECONDS * 1_000).round} ms, for #{seconds} s each, while another burns CPU; one tick in " \
                  "#{INTERVAL_US} us requested.")
      report.text("Without the GVL: calls that ended with EINTR, of all. The demand: none.")
      report.table(header, eintr_waits(arms, false, seconds))
      report.text("Holding the GVL: the same in % of the ticks that fell due in these calls. The demand: at most #{(EINTR_LIMIT * 100).round} %.")
      report.table(header, eintr_waits(arms, true, seconds))
      report.text("Polls of 1 ms without the GVL, on the only thread, with up to half of one of Ruby between them. The demand: none.")
      report.table(header, [["brief polls", *eintr_cells(arms) { |arm| eintr_count(arm, child(:eintr, :brief, arm, seconds)) }]])
      report.text("Polls that do not wait, on one thread, without the GVL, #{Eintr::RATE} a second aimed at: those that ended with EINTR, of all.")
      report.table(header, [["churn", *eintr_cells(arms) { |arm| eintr_rate(child(:eintr, :churn, arm, seconds)) }]])
      report.publish
    end

    # A cell for each profiler that works here.
    def eintr_cells(arms)
      arms.map { |arm| arm == "ours wall" && !Engines.wall? ? "0 (not here)" : yield(arm) }
    end

    def eintr_waits(arms, holding_gvl, seconds)
      Eintr::Calls::NAMES.map do |name|
        cells = eintr_cells(arms) do |arm|
          found = child(:eintr, :waits, arm, name, holding_gvl, seconds)
          holding_gvl ? eintr_share(arm, found) : eintr_count(arm, found)
        end
        [holding_gvl ? "#{name}, GVL held" : name, *cells]
      end
    end

    def eintr_count(arm, found)
      verdict = found["eintr"].zero? ? ": met" : ": MISSED" if arm == "ours wall"
      "#{found["eintr"]} of #{found["calls"]}#{verdict}"
    end

    def eintr_share(arm, found)
      share = found["eintr"] / (found["seconds"] * 1_000_000 / INTERVAL_US)
      verdict = share <= EINTR_LIMIT ? ": met" : ": MISSED" if arm == "ours wall"
      "#{(share * 100).round(2)} (#{found["eintr"]} of #{found["calls"]} calls)#{verdict}"
    end

    def eintr_rate(found)
      "#{found["eintr"]} of #{found["calls"]}, #{(found["calls"] / found["seconds"]).round} a second"
    end
  end
end
