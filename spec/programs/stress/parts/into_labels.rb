# frozen_string_literal: true

require_relative "../injection"
require_relative "../calls"

# Exceptions, kills and time-outs into labels, with and without sessions that select them.
module Stress
  calls = PROFILED ? Calls.labels : Calls.plain
  Target.new("labels", calls.to_a).start
  Killed.new("labels", calls.to_a).start
  TimedOut.new("labels", calls.to_a).start

  worker("sessions over labels") do
    next sleep(0.1) if !PROFILED || rand < 0.3 # labels work without a session too

    session = Profiler::Session.start(**view, **[{}, { labels: { request: 3 } }, { fibers: true }, { spans: true }].sample)
    sleep(rand * 0.1)
    session.stop
    count(:sessions)
  end
end
