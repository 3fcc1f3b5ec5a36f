# frozen_string_literal: true

# Forks in a watched request, whose child ends it and gets no other; and raises at the beginning of one. Prints whether a session runs
# after each.
require_relative "../helpers"
require_relative "slow_requests"

reader, writer = IO.pipe
pid = nil
Profiler::Middleware.new(->(_env) { pid = fork; [200, {}, []] }, slower_than: 10).call({})
unless pid
  writer << Profiler.running?.to_s
  exit!(0)
end
Process.wait(pid)
writer.close
open_sessions
trace = TracePoint.new(:return) { |it| (trace.disable; raise "from outside") if it.method_id == :session_after }
other = app
trace.enable
raised = error { other.call({}) }
trace.disable
print_json([reader.read, raised, Profiler.running?])
