# frozen_string_literal: true

require_relative "../support/c_extension"

# Law 1 where a thread alternates between running and collecting garbage.
RSpec.describe "Time in garbage collections" do
  include_context "with a program"

  it "is their CPU time, and running has its own, beside busy processes", :timed do
    skip "before Ruby 3.3 no hook tells when Ruby collects garbage" if RUBY_VERSION < "3.3"
    rounds = program_json("gc_shares/beside_loops", env: { "ROUNDS" => "10" }, ruby_options: CExtension.options("gc_shares/gc_clock"), timeout: 120)
    rounds.each do |round|
      truth, seen = round.values_at(:truth, :seen)
      expect(truth[:gc]).to be > 1_000_000, round.to_s
      # Each step of a collection has hooks of the program and of the profiler, and the session is a little longer than what is timed.
      expect(seen[:gc]).to be_within((0.04 * truth[:gc]) + 200_000).of(truth[:gc]), rounds.to_s
      expect(seen[:running]).to be_within((0.04 * truth[:running]) + 500_000).of(truth[:running]), rounds.to_s
    end
    # Otherwise there would be nothing to tell apart.
    expect(rounds.sum { |round| round[:seen].fetch(:runnable, 0) }).to be > rounds.sum { |round| round[:truth].values.sum } / 4, rounds.to_s
  end
end
