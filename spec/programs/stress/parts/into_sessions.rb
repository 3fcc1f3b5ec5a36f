# frozen_string_literal: true

require_relative "../injection"
require_relative "../calls"

# Exceptions, kills and time-outs into start, stop, snapshot, pause, resume, naming and saving.
module Stress
  groups = PROFILED ? { blocks: Calls.blocks, sessions: Calls.sessions, results: Calls.results } : { work: Calls.plain }
  groups.each { |name, calls| Target.new(name, calls.to_a).start }
  together = groups.values.inject(:merge).to_a
  Killed.new("sessions", together).start
  TimedOut.new("sessions", together).start
end
