# frozen_string_literal: true

# The life of a process with sessions that never end: it disturbs them for a while, and ends. For the part "periods".
#
#   ruby -Ilib spec/programs/stress/always_on.rb DIRECTORY ENDING SEED
require "profiler"
require "timeout"
begin
  require "stackprof"
rescue LoadError
  nil # it only takes the signal, as a trap does
end

directory, ending, seed = ARGV
srand(Integer(seed))
ARGV.clear
Thread.report_on_exception = false

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def work(seconds)
  till = now + seconds
  20.times { |number| number.to_s } while now < till
end

def own_threads = Thread.list.grep(Profiler.const_get(:BackgroundThread))

# Things that apps, their libraries and their tests do, now and then.
DISTURBANCES = {
  interrupted_flush: -> { Timeout.timeout(rand * 0.02) { Profiler::Continuous.current&.flush } },
  interrupted_save: -> { Timeout.timeout(rand * 0.02) { Profiler.flight&.save } },
  stray_exception: -> { own_threads.sample&.raise("stray") },
  stray_wakeup: -> { own_threads.sample&.wakeup },
  kill: -> { rand(8).zero? && own_threads.sample&.kill },
  other_owner: lambda do
    defined?(StackProf) ? StackProf.run(mode: :cpu, raw: false) { work(0.02) } : trap("PROF", "IGNORE") && trap("PROF", "DEFAULT")
  end,
  clock_back: -> { Time.define_singleton_method(:now) { Time.at(rand(2_000_000_000)) } },
  warnings_raise: -> { Warning.define_singleton_method(:warn) { |*, **| raise "warned" } },
  other_sleep: -> { Kernel.define_method(:sleep) { |*| 0 } },
  fork: -> { Process.wait(fork { work(0.02) }) },
  fork_at_once: -> { Process.wait(fork { exit!(0) }) },
  # A request waits for the disk, as one that writes a log does, unless it has a time-out.
  interrupted_request: lambda do
    app = Profiler::Middleware.new(->(_env) { work(0.01) || [200, {}, []] }, slower_than: 0.005, out: directory)
    request = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "QUERY_STRING" => "", "rack.url_scheme" => "http" }
    Timeout.timeout(0.5) { app.call(request).last.then { |result| result.close if result.respond_to?(:close) } }
  end
}.freeze

Profiler.continuous(out: "#{directory}/continuous", period: [0.1, 0.3, 3_600].sample, keep: [2, 1_000].sample)
Profiler.flight_recorder(out: "#{directory}/flight", minutes: 0.1, at: %i[crash term exit]) if rand(2).zero?
[0, 0, 1, 8, 16].sample.times { Thread.new { loop { work(1) } } }
work(0.2)
disturbances = DISTURBANCES.to_a.sample(rand(4))
till = now + 0.5
while now < till && disturbances.any?
  name, disturbance = disturbances.sample
  begin
    disturbance.call
  rescue Timeout::Error, Profiler::Error, ThreadError, SystemCallError, RuntimeError
    nil # what the app did itself
  end
  File.write("#{directory}/disturbed", "#{name}\n", mode: "a")
end
case ending
when "exit!" then exit!(0)
when "exec" then exec("true")
when "TERM" then Process.kill(:TERM, Process.pid) && Thread.stop
when "exception" then raise Interrupt, ""
end
