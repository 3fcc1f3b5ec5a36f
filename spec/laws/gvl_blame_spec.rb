# frozen_string_literal: true

# Waiting for the GVL is blamed on what ran meanwhile, and all of it is.
RSpec.describe "Blame for the GVL" do
  before { skip "before Ruby 3.3 nothing says whose wait it is" if RUBY_VERSION < "3.3" }

  include_context "with a program"

  # The mean distance of +number+ independent samples from these shares: half the sum of the mean deviations of each part.
  def chance(shares, number)
    shares.sum { |share| Math.sqrt(2 * share * (1 - share) / (Math::PI * number)) } / 2
  end

  def shares(times) = times.transform_values { |ns| ns.fdiv(times.values.sum) }

  runs = Integer(ENV.fetch("PROPERTY_RUNS", "4"))

  Array.new(runs) { Kernel.rand(1_000_000) }.each_with_index do |seed, run|
    interval = [1_000, 10_000][run % 2]
    outside = run % 4 >= 2

    it "is what ran in the random program #{seed}, interval #{interval}, holders #{outside ? "outside of" : "in"} the session", :timed do
      env = { "SEED" => seed.to_s, "PROGRAM" => "random", "INTERVAL" => interval.to_s, "SECONDS" => "2", "OUTSIDE" => outside ? "1" : "0" }
      report = program_json("gvl/holders", timeout: 60, env: env)
      truth, seen = shares(report[:truth]), shares(report[:seen])
      distance = truth.sum { |kind, share| (share - seen[kind]).abs } / 2
      # The distances between ticks are random too. The program itself is right to a percent or two.
      expect(distance).to be <= (5 * chance(truth.values, report[:ticks])) + 0.03, "#{truth}\n#{seen}\n#{report}"
      # Next to nothing is blamed on where it rests, as a tick can come as that call begins, nor on what it does in between.
      expect(seen[:resting]).to be < truth[:resting] + 0.03 + 3.fdiv(report[:ticks]), report.to_s
      expect(report[:other].values.sum).to be < (report[:seen].values.sum * 0.05) + (interval * 2_000), report.to_s
      # All waiting is blamed, thread by thread. A thread without any blame has waited for less than some ticks.
      report[:waits].each do |thread, waited|
        expect(report[:blames].fetch(thread, 0)).to be_within(interval * 10_000).of(waited), "#{thread} of #{report}"
      end
      expect(report[:gvl_blame]).to eq(report[:gvl_wait])
    end
  end
end
