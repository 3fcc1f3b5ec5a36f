# frozen_string_literal: true

# Calls exec with a program that does not exist, under each engine, also while another thread is in exec. Prints the errors, and how
# many ticks came afterwards.
require_relative "../helpers"
require_relative "slowly"

outcomes = ENGINES.map do |engine|
  session = Profiler.start(engine: engine.to_sym)
  ticks = -> { session.snapshot.stats[:captured] }
  failures = Array.new(3) { error { exec("/no/such/program") } }
  still = nil
  slow_exec do
    failures << error { exec("/no/such/program") }
    before = ticks.call
    burn_in_pieces(160)
    still = ticks.call - before
  end
  before = ticks.call
  burn_in_pieces(160)
  [failures.uniq, still, ticks.call - before, session.stop.meta[:notes]]
end
print_json(outcomes)
