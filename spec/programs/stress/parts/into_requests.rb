# frozen_string_literal: true

require_relative "../injection"
require_relative "../calls"

# Exceptions, kills and time-outs into the middleware and into recordings: what they take, they free again.
module Stress
  calls = PROFILED ? Calls.requests : Calls.plain
  2.times { |number| Target.new("requests #{number}", calls.to_a).start }
  Killed.new("requests", calls.to_a).start
  TimedOut.new("requests", calls.to_a).start
  check_at_end { Calls.check_requests } if PROFILED
end
