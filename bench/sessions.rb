# frozen_string_literal: true

# Measures the cost of starting and stopping, and its effect on other sessions. Times are microseconds.
module Bench
  module Sessions
    THREADS = 32
    CHUNK = 50 # sessions between two measurements of the machine's speed
    RATE = 5_000 # starts and stops a second, of all threads together
    STATE = Struct.new(:stops, :sessions, :running)

    module_function

    def clock
      Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_microsecond)
    end

    def timed
      before = clock
      yield
      clock - before
    end

    # Times sessions of this thread around nothing, as a middleware would have them: the first, the second, and the medians of
    # chunks of those that follow, for the peer too. Each time comes with that of a loop, which says how fast the machine was just
    # then.
    def around_nothing(rounds)
      require "profiler"
      ours = -> { Profiler.run(threads: :current) { nil } }
      first, second = Array.new(2) { timed(&ours) }
      { first: first, second: second, ours: at_speeds(rounds, &ours), stackprof: peer && at_speeds(rounds, &peer) }
    end

    # The milliseconds to load this gem, and to load the floor, an extension of a few functions; with the loop as above.
    def loading
      loop_before = timed { spin }
      floor, ours = [-> { OnFloor.load }, -> { require "profiler" }].map { |load| timed(&load) / 1_000 }
      { ours: ours, floor: floor, loop: [loop_before, timed { spin }].max }
    end

    def at_speeds(rounds, &session)
      Array.new((rounds / CHUNK) + 1) do
        loop_before = timed { spin }
        median = Array.new(CHUNK) { timed(&session) }.sort[CHUNK / 2]
        [median, [loop_before, timed { spin }].max]
      end
    end

    def spin
      i = 0
      i += 1 while i < 10_000
    end

    def peer
      require "stackprof"
      -> { StackProf.run(mode: :cpu, interval: 1_000) { nil } }
    rescue LoadError
      nil
    end

    # Times stops, and GCs with and without sessions, while threads start and stop sessions of their own all the time.
    def churn(seconds)
      require "profiler"
      without = gc_pauses(seconds / 4.0, STATE.new([], false, true))
      state = STATE.new(Queue.new, true, true)
      with = gc_pauses(seconds, state)
      stops = Array.new(state.stops.size) { state.stops.pop }
      { stops: stops.size, rate: stops.size / seconds.to_f, seconds: seconds,
        stop: percentiles(stops), gc_with: percentiles(with), gc_without: percentiles(without) }
    end

    # The GC pauses while the threads work.
    def gc_pauses(seconds, state)
      workers = Array.new(THREADS) { Thread.new { work(state) } }
      till = clock + (seconds * 1_000_000)
      pauses = []
      until clock > till
        pauses << timed { GC.start(full_mark: false) }
        sleep 0.02
      end
      state.running = false
      workers.each(&:join)
      pauses
    end

    def work(state)
      pause = 1_000_000 * THREADS.fdiv(RATE)
      due = clock + rand(pause)
      while state.running
        session = Profiler.start(threads: :current) if state.sessions
        50.times(&:to_s)
        state.stops << timed { session.stop } if session
        # By a schedule, so that after a sleep that was too long the next one is shorter.
        rest = (due += pause) - clock
        sleep(rest / 1_000_000) if rest.positive?
      end
    end

    def percentiles(times)
      sorted = times.sort
      { p50: sorted[sorted.size / 2], p99: sorted[(sorted.size * 0.99).floor], most: sorted.last }
    end
  end
end
