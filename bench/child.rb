# frozen_string_literal: true

require_relative "contenders"
require_relative "engines"
require_relative "names"
require_relative "sessions"
require_relative "workloads"

# A process for one row: reads its orders as JSON from the command line and prints the raw figures as JSON.
module Bench
  # The nap after a slice: longer than the collector thread ever sleeps, so that its CPU time falls into the slice that caused it.
  # Slices so short that they measure nothing anyway do not wait for that.
  SETTLE_SECONDS = 0.3

  # A process CPU clock that is right while a CPU timer is armed: CLOCK_PROCESS_CPUTIME_ID lags by up to a tick then.
  def self.cpu
    Process.clock_gettime(:GETRUSAGE_BASED_CLOCK_PROCESS_CPUTIME_ID)
  end

  def self.cpu_of
    before = cpu
    yield
    cpu - before
  end

  # The number of rounds that take +seconds+ of CPU.
  def self.calibrate(work, seconds)
    rounds = 1
    rounds *= 2 while cpu_of { work.call(rounds) } < seconds / 4
    (rounds * seconds / Array.new(3) { cpu_of { work.call(rounds) } }.min).ceil
  end

  def self.slice(contender, work, rounds, nap)
    GC.start
    contender.start
    cpu = cpu_of do
      work.call(rounds)
      sleep nap
    end
    contender.stop.merge(cpu: cpu)
  end

  # Measures blocks of one slice of every arm, in random order, so that drift of the machine hits all alike.
  def self.blocks(workload, arms, pairs, seconds)
    work = Workloads.any(workload)
    contenders = arms.to_h { |arm| [arm, CONTENDERS.fetch(arm).call] }
    fixed = [work, calibrate(work, seconds), [SETTLE_SECONDS, seconds].min]
    contenders.each_value { |contender| slice(contender, *fixed) } # the first time is not like the others
    Array.new(pairs) { contenders.to_a.shuffle.to_h { |arm, contender| [arm, slice(contender, *fixed)] } }
  end

  # The same for a machine that changes its speed from second to second: short slices, and one without a profiler before and after each.
  def self.turns(workload, arms, pairs, seconds)
    work = Workloads.any(workload)
    contenders = ["off", *arms].to_h { |arm| [arm, CONTENDERS.fetch(arm).call] }
    rounds = calibrate(work, seconds)
    contenders.each_value { |contender| measure_once(contender, work, rounds) }
    none = contenders.delete("off")
    before = measure_once(none, work, rounds)
    blocks = Array.new(pairs) do
      contenders.to_a.shuffle.to_h do |arm, contender|
        on, after = measure_once(contender, work, rounds), measure_once(none, work, rounds)
        off = %i[cpu wall].to_h { |of| [of, (before[of] + after[of]) / 2] }
        before = after
        [arm, on.merge(off: off)]
      end
    end
    { blocks: blocks, rounds: rounds }
  end

  # The CPU time from before the start until after the stop, when nothing is left to be done, and the wall clock of the work. Names
  # are left out of the CPU time, as they are resolved once and not at each sample.
  def self.measure_once(contender, work, rounds)
    GC.start
    wall = stats = nil
    cpu = cpu_of do
      contender.start
      wall = Engines.wall_of { work.call(rounds) }
      stats = contender.stop
    end
    stats.merge(cpu: cpu - (stats.fetch(:names_ns, 0) / 1e9), wall: wall)
  end

  # The pairs of one contender with every workload.
  def self.row(arm, pairs, seconds)
    Workloads::ALL.keys.to_h { |workload| [workload, blocks(workload, ["off", arm], pairs, seconds)] }
  end

  # The nanoseconds of a bare walk, of the least that a handler with exact weights can do, and of our handler, called as the timer
  # would. They take turns in a tight loop. Where all are slow because the machine is, the round still compares them.
  def self.handlers(depth, pairs)
    OnFloor.load
    require "profiler"
    Profiler.run(interval: 1_000_000) do
      Array.new(pairs) do
        Workloads.at_depth(depth) do
          bare, frames = Floor.loop(Floor::WALK, 1_600)
          exact, = Floor.loop(Floor::WALK | Floor::THREAD_CLOCK | Floor::TIMED, 1_600)
          { bare: bare, exact: exact, ours: Profiler::Testing.handler_ns(1_600), frames: frames }
        end
      end
    end.value
  end

  def self.around_nothing(rounds)
    Sessions.around_nothing(rounds)
  end

  def self.engines(name, number, seconds, threads)
    Engines.pairs(name, number, seconds, threads)
  end

  # These load code that the rows of others need not carry.
  def self.accuracy(...)
    require_relative "accuracy"
    Accuracy.measure(...)
  end

  def self.families(...)
    require_relative "families"
    Families.measure(...)
  end

  def self.allocations(...)
    require_relative "allocations"
    Allocations.rounds(...)
  end

  def self.eintr(what, *details)
    require_relative "eintr"
    Eintr.public_send(what, *details)
  end

  def self.names(part)
    Names.public_send(part)
  end

  def self.loading
    Sessions.loading
  end

  def self.churn(seconds)
    Sessions.churn(seconds)
  end

  # The microseconds to start and to stop, around +work_seconds+ of work.
  def self.sessions(arm, pairs, work_seconds)
    contender = CONTENDERS.fetch(arm).call
    work = Workloads::ALL.fetch("fib")
    rounds = work_seconds.zero? ? 0 : calibrate(work, work_seconds)
    clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_microsecond) }
    Array.new(pairs) do
      times = [clock.call]
      contender.start
      times << clock.call
      work.call(rounds)
      times << clock.call
      contender.stop
      times << clock.call
      { start: times[1] - times[0], stop: times[3] - times[2] }
    end
  end
end

puts JSON.generate(Bench.public_send(*JSON.parse(ARGV.fetch(0)))) if $PROGRAM_NAME == __FILE__
