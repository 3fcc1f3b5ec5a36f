# frozen_string_literal: true

# Raises at each place where the end of a recording returns to the middleware. Prints how many places there are, and where a slot
# stays taken.
require_relative "../helpers"

_ = Profiler::Middleware # loads the rest
policy = Profiler.const_get(:Recording)::Policy.new(mode: :cpu, rate: 1_000_000, concurrency: 1, out: ->(_result) {})
finish = lambda do |at|
  returns = 0
  trace = TracePoint.new(:return) do |event|
    next unless event.path.include?("/lib/profiler/")
    (trace.disable; raise Interrupt, "from outside") if (returns += 1) == at
  end
  policy.guarded do |recordings|
    recording = policy.on_demand({}, recordings)
    trace.enable(target_thread: Thread.current) { recording.finish }
  end
  returns
rescue Interrupt
  returns
end
all = finish.call(0)
kept_slots = (1..all).select { |at| finish.call(at); policy.limits.any? && policy.limits.start_over }
print_json([all, kept_slots])
