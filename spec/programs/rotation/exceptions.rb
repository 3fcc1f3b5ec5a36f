# frozen_string_literal: true

# Raises at a thread that rotates a session all the time. Prints how many objects were made, and how many of them no profile has.
require_relative "../helpers"

Kept = Class.new
session = Profiler.start(mode: :allocations, every: 1)
made = interrupted = 0
received = {} # by the start of the profile: one that begins there again has the contents of the first too
till = now + 20_000_000_000
while interrupted < 100 && now < till
  thread = Thread.handle_interrupt(RuntimeError => :never) do
    Thread.new do
      Thread.handle_interrupt(RuntimeError => :immediate) do
        loop do
          7.times { Kept.new; made += 1 } # an exception may come between these two
          gently = made.even?
          session.rotate(gently: gently) { |profile| received[profile.meta[:started_at_ns]] = objects_of(profile, "Kept") }
        end
      end
    rescue RuntimeError
      interrupted += 1
    end
  end
  sleep(rand * 0.02)
  thread.raise("now")
  thread.join
end
last = session.stop
received[last.meta[:started_at_ns]] = objects_of(last, "Kept")
print_json(lost: made - received.values.sum, made: made, interrupted: interrupted)
