# frozen_string_literal: true

# A server of many quick requests and a slow one, which is found after it was slow. Needs what programs under test have.
class Quick
  def self.serve(ms) = (burn(ms / 4.0); sleep(ms / 2000.0))
end
class Slow
  def self.compute = burn(150)
  def self.query(began = now) = sleep(0.3).then { $query = now - began }
  def self.serve = (compute; query)
end
REQUESTS = Integer(ENV.fetch("REQUESTS", "400"))
MS = Integer(ENV.fetch("MS", "8"))
FOUND = []
def app
  Profiler::Middleware.new(lambda do |env|
    return [200, {}, [Quick.serve(MS).to_s]] unless env["slow"]

    at = [Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond), now]
    Slow.serve
    Profiler.marker("the end") { nil }
    env["took"] = [Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - at[0], now - at[1]]
    [200, {}, ["x"]]
  end, slower_than: 0.4, mode: %i[cpu wall], out: ->(it) { FOUND << it })
end
def at_once(app, threads)
  numbers = Queue.new
  REQUESTS.times { |number| numbers << { "slow" => number == REQUESTS / 2 } }
  threads.times { numbers << nil }
  slow = nil
  Array.new(threads) { Thread.new { while (env = numbers.pop) do (app.call(env); slow = env if env["slow"]) end } }.each(&:join)
  slow
end
