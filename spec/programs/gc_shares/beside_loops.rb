# frozen_string_literal: true

# Creates garbage while other processes want the CPUs. Prints, for each of some rounds, the CPU time of the thread and of its garbage
# collections by its own clock, and what the profile says of them, in ns.
require "etc"
require "gc_clock"
require "json"
require "profiler"

ROUNDS = Integer(ENV.fetch("ROUNDS"))

def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def create_garbage = 5.times { 60_000.times { |number| number.to_s * 2 } }

# The CPU time of the block, without garbage collections and in them.
def used
  before = [cpu_ns, GCClock.cpu_ns]
  yield
  all, gc = [cpu_ns, GCClock.cpu_ns].zip(before).map { |after, since| after - since }
  { running: all - gc, gc: gc }
end

def round
  truth = nil
  profile = Profiler.run(mode: %i[cpu wall], threads: :current) { truth = used { create_garbage } }
  { truth: truth, seen: profile.samples.group_by(&:state).transform_values { |rows| rows.sum(&:wall) } }
end

busy = Array.new(2 * Etc.nprocessors) { spawn(RbConfig.ruby, "-e", "loop { }") }
begin
  sleep 0.3
  round # warms up
  puts JSON.generate(Array.new(ROUNDS) { round })
ensure
  busy.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
end
