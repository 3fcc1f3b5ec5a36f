# frozen_string_literal: true

# Law 1 for many sessions at once: each attributes to its own threads their own clocks over its own span, whatever
# the others do.
RSpec.describe "Time of overlapping sessions" do
  include_context "with a program"

  # The time of a thread before it first reads its clock, and after it last does.
  slack_ns = 1_000_000

  runs = Integer(ENV.fetch("PROPERTY_RUNS", "10"))

  engines = Perf.among("perf", "thread_timer", "ticker", "setitimer", "safepoint")

  Array.new(runs) { Kernel.rand(1_000_000) }.each_with_index do |seed, run|
    engine = engines[run % engines.size]

    it "is that of their threads and labels in the random program #{seed}, engine #{engine}", :timed do
      sessions = program_json("session/random_sessions", timeout: 120, env: { "SEED" => seed.to_s, "PROFILER_ENGINE" => engine })
      expect(sessions.flatten).not_to be_empty
      sessions.flatten.each do |session|
        thread, sum, least, most, foreign = session.values_at(:thread, :sum, :least, :most, :foreign)
        expect(sum).to be_between(least - slack_ns, most + slack_ns), "#{thread} of #{session}"
        expect(foreign).to be_empty, "labels of others in #{session}"
      end
    end
  end
end
