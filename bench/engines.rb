# frozen_string_literal: true

# Measures the share of the requested ticks that come, by engine and mode, and their cost to the program.
module Bench
  module Engines
    # The names, with the options of Profiler.start.
    ARMS = {
      "cpu, perf" => { mode: :cpu, engine: :perf },
      "cpu, ticker" => { mode: :cpu, engine: :ticker },
      "cpu, thread_timer" => { mode: :cpu, engine: :thread_timer },
      "wall, ticker" => { mode: :wall, engine: :ticker }
    }.freeze

    module_function

    # The engines that this Ruby and this system have.
    def available
      require "profiler"
      ARMS.select do |_name, options|
        Profiler::Session.start(**options).discard
        true
      rescue Profiler::Unsupported
        false
      end
    end

    def wall?
      available.key?("wall, ticker")
    end

    # Pairs of the same work without a profiler and with: CPU and wall clock of each, and the share of the ticks.
    def pairs(name, number, seconds, threads)
      options = available[name] or return nil

      work = Workloads::ALL.fetch("fib")
      rounds = Bench.calibrate(work, seconds / threads)
      measured(rounds, work, threads, options) # the first time is not like the others
      Array.new(number) do
        slices = { off: nil, on: options }.to_a.shuffle
        slices.to_h { |arm, given| [arm, measured(rounds, work, threads, given)] }
      end
    end

    def measured(rounds, work, threads, options)
      GC.start
      session = Profiler::Session.start(interval: INTERVAL_US, **options) if options
      cpu = nil
      wall = wall_of { cpu = Bench.cpu_of { Array.new(threads) { Thread.new { work.call(rounds) } }.each(&:join) } }
      { cpu: cpu, wall: wall, share: session && share(session.stop) }
    end

    def share(profile)
      ran = profile.samples.select { |row| row.state == :running && row.count.positive? }
      time = ran.sum { |row| row.cpu.zero? ? row.wall : row.cpu }
      ran.sum(&:count) * INTERVAL_US * 1_000.0 / time
    end

    def wall_of
      before = clock
      yield
      clock - before
    end

    def clock
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
