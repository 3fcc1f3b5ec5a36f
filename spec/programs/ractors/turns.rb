# frozen_string_literal: true

# Fibers that take turns beside Ractors. Needs the helpers.
def result_of(ractor) = ractor.respond_to?(:value) ? ractor.value : ractor.take

# Two fibers that take turns, each under a label of its own. Returns ticks that did not know whose labels they saw, and those
# that did.
def turns
  session = Profiler.start
  yield
  fibers = %w[a b].map { |request| Fiber.new { Profiler.label(request: request) { 60.times { burn(2); Fiber.yield } } } }
  60.times { fibers.each(&:resume) }
  profile = session.stop
  requests = samples_in(profile, "Object#burn").map { |row| row.labels["request"] }.uniq.compact.sort
  [profile.stats[:dropped_in_switch], profile.stats[:captured], requests]
end
