# frozen_string_literal: true

# Sleeps in every way that Ruby has, side by side with threads that compute. Prints how often each way was shorter than it was to be.
require "fiddle"
require "json"
require "profiler"
require "timeout"

RANDOM = Random.new(Integer(ENV.fetch("SEED")))
MODE = ENV.fetch("MODE").split(",").map(&:to_sym)
OPTIONS = { mode: MODE, engine: ENV["ENGINE"]&.to_sym }.freeze
ROUNDS = Integer(ENV.fetch("ROUNDS", "20"))
# The C library's own sleeps, which end with a signal, whatever its flags say.
LIBRARY = [false, true].to_h do |holding|
  [holding, Fiddle::Function.new(Fiddle.dlopen(nil)["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: holding)]
end

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

reader, writer = IO.pipe
lock, changed, asleep = Mutex.new, ConditionVariable.new, Thread.new { sleep }
WAYS = {
  sleep: ->(seconds) { sleep(seconds) },
  select: ->(seconds) { IO.select([reader], nil, nil, seconds) },
  join: ->(seconds) { asleep.join(seconds) },
  mutex: ->(seconds) { lock.synchronize { lock.sleep(seconds) } },
  condition: ->(seconds) { lock.synchronize { changed.wait(lock, seconds) } },
  usleep: ->(seconds) { LIBRARY[false].call((seconds * 1e6).ceil) },
  usleep_with_gvl: ->(seconds) { LIBRARY[true].call((seconds * 1e6).ceil) }
}.freeze

def sleeps
  WAYS.to_h do |name, way|
    short = Array.new(ROUNDS) do
      seconds = RANDOM.rand(0.001..0.015)
      before = now
      way.call(seconds)
      took = now - before
      RANDOM.rand(2_000).times { |number| number.to_s }
      took < seconds - 0.0001
    end
    [name, short.count(true)]
  end
end

Thread.new { loop { RANDOM.rand(20_000).times { |number| number.to_s }.then { sleep 0.002 } } }
short = nil
if MODE == [:none]
  short = sleeps
else
  Profiler.run(**OPTIONS) { short = sleeps }
end
writer.close
puts JSON.generate(short)
