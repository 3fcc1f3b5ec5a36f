# frozen_string_literal: true

require "digest"
require_relative "workloads"

# Programs that keep account of their own time, with which a profile is compared. Each kind of work has a method of its own, and the
# outermost of these in a stack is the kind of the time. Kinds and lengths come in random order, so that nothing falls into step
# with a sampler.
module Bench
  # The kinds of work. A round of those that compute takes about 10 to 40 us; none of these reads a clock.
  module Work
    NUMBERS = Array.new(80) { |i| (i * 7_919) % 1_009 }.freeze
    TEXT = ("the quick brown fox jumps over 13 lazy dogs at 12:45, " * 8).freeze
    LONG = (TEXT * 8).freeze
    WORDS = TEXT.split.freeze
    TABLE = (0...256).to_h { |i| ["key #{i}", i] }.freeze
    KEYS = TABLE.keys.freeze

    module_function

    def sorting(rounds)
      rounds.times { NUMBERS.sort_by { |number| -number } }
    end

    def packing(rounds)
      rounds.times { NUMBERS.pack("N*").unpack("N*").pack("w*") }
    end

    def digesting(rounds)
      rounds.times { Digest::SHA256.digest(LONG) }
    end

    def matching(rounds)
      rounds.times { TEXT.scan(/\b(\d+):(\d+)\b/) }
    end

    def joining(rounds)
      rounds.times { WORDS.join(" ").upcase.reverse.tr("A-M", "n-z") }
    end

    def looking_up(rounds)
      rounds.times { KEYS.each { |key| TABLE[key] } }
    end

    def looping(rounds)
      i = 0
      i += 1 while i < rounds * 1_500
    end

    def calling(rounds) = Workloads.spin(rounds * 400)

    # The work of the four threads.
    def four(rounds) = Workloads.spin(rounds * 400)
    def three(rounds) = Workloads.spin(rounds * 400)
    def two(rounds) = Workloads.spin(rounds * 400)
    def one(rounds) = Workloads.spin(rounds * 400)

    def littering(rounds)
      rounds.times { |i| Array.new(40) { "garbage #{i}" } }
    end

    def keeping(rounds, shelf)
      rounds.times { |i| shelf[(shelf.size * i) / rounds] = Array.new(40) { |j| [j] } }
    end

    def sleeping(seconds)
      sleep(seconds)
    end

    def selecting(seconds, pipe)
      IO.select([pipe], nil, nil, seconds)
    end

    def popping(queue)
      queue.pop
    end
  end

  # The programs. Each has `kinds`, into which a profile is divided, and `run(seconds)`, which returns the true seconds of each.
  module Truths
    module_function

    # The clock of a thread, by the mode of the profile.
    def clock_of(mode)
      mode == :cpu ? method(:cpu) : method(:wall)
    end

    def cpu
      Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    end

    def wall
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def process_cpu
      Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    end

    def until_over(seconds)
      till = wall + seconds
      yield while wall < till
    end

    # C functions and Ruby methods on one thread, in other proportions each time. Garbage is collected only between them, where it
    # belongs to no kind: not every profiler says what caused a GC.
    class Mixed
      KINDS = %i[sorting packing digesting matching joining looking_up looping calling].freeze

      def initialize(random, mode)
        @random = random
        @clock = Truths.clock_of(mode)
        @shares = KINDS.to_h { |kind| [kind, random.rand(1.0..4.0)] }
      end

      def kinds
        KINDS
      end

      def run(seconds)
        truth = KINDS.to_h { |kind| [kind, 0.0] }
        GC.disable
        Truths.until_over(seconds) do
          200.times { piece(truth) }
          GC.start(full_mark: false)
        end
        truth
      ensure
        GC.enable
      end

      private

      def piece(truth)
        kind = pick
        rounds = @random.rand(1..40)
        before = @clock.call
        Work.public_send(kind, rounds)
        truth[kind] += @clock.call - before
      end

      def pick
        left = @random.rand(@shares.sum { |_kind, share| share })
        KINDS.find { |kind| (left -= @shares[kind]).negative? } || KINDS.last
      end
    end

    # Four threads that use CPU as 4:3:2:1, in bursts: a thread that is ahead of another sleeps. Nothing is allocated, as a GC would
    # not be running time. The truth is CPU in both modes, as no clock of the program says what it had the GVL for. In `:wall` that
    # needs a machine on which no other process takes the CPU from it.
    class Threads
      KINDS = { four: 4, three: 3, two: 2, one: 1 }.freeze
      AHEAD = 0.002 # seconds, of a thread with a share of one

      def initialize(random, _mode)
        @randoms = KINDS.transform_values { Random.new(random.rand(1 << 30)) }
      end

      def kinds
        KINDS.keys
      end

      def run(seconds)
        @spent = KINDS.transform_values { 0.0 }
        KINDS.keys.map { |kind| Thread.new { thread(kind, seconds) } }.each(&:join)
        @spent
      end

      private

      def thread(kind, seconds)
        Truths.until_over(seconds) do
          next sleep(@randoms[kind].rand(0.001)) if ahead?(kind)

          rounds = @randoms[kind].rand(KINDS[kind]..KINDS[kind] * 40)
          before = Truths.cpu
          Work.public_send(kind, rounds)
          @spent[kind] += Truths.cpu - before
        end
      end

      def ahead?(kind)
        KINDS.any? { |other, share| (@spent[kind] / KINDS[kind]) - (@spent[other] / share) > AHEAD }
      end
    end

    # Garbage, and the collecting of it. GC.total_time is CPU time of the process, all threads (a profiler's too), so it is divided by
    # the same clock. The quotient says how much of the wall clock around a short piece of work was GC. Time that the system
    # gave to other processes meanwhile is shared out. That is good for about 3 % of the GC.
    class Collecting
      KINDS = %i[gc rest].freeze

      def initialize(random, _mode)
        @random = random
        @shelf = Array.new(2_000) { Array.new(40) { |j| [j] } }
      end

      def kinds
        KINDS
      end

      def run(seconds)
        truth = { gc: 0.0, rest: 0.0 }
        Truths.until_over(seconds) do
          rounds = @random.rand(1..100)
          case @random.rand(3)
          when 0 then spend(truth) { Work.littering(rounds) }
          when 1 then spend(truth) { Work.keeping(rounds, @shelf) }
          else spend(truth) { Work.looping(rounds) }
          end
        end
        truth
      end

      private

      def spend(truth)
        before = [GC.total_time / 1e9, Truths.process_cpu, Truths.wall]
        yield
        collected, cpu, wall = [GC.total_time / 1e9, Truths.process_cpu, Truths.wall].zip(before).map { |after, then_| after - then_ }
        truth[:gc] += wall * collected / cpu
        truth[:rest] += wall * (cpu - collected) / cpu
      end
    end

    # A thread that waits for the clock, for a descriptor and for another thread, and computes now and then. A wait takes from a
    # fifth of a millisecond to a hundred times as long.
    class Waiting
      KINDS = %i[sleeping selecting popping looping].freeze

      def initialize(random, _mode)
        @random = random
        @pipe, @end = IO.pipe
        @requests = Queue.new
        @queue = Queue.new
      end

      def kinds
        KINDS
      end

      def run(seconds)
        truth = KINDS.to_h { |kind| [kind, 0.0] }
        feeder = Thread.new { feed }
        Truths.until_over(seconds) { spend(truth, KINDS[@random.rand(KINDS.size)], 0.0002 * (100**@random.rand)) }
        @requests.close
        feeder.join
        truth
      end

      private

      def spend(truth, kind, length)
        @requests << length if kind == :popping
        before = Truths.wall
        case kind
        when :sleeping then Work.sleeping(length)
        when :selecting then Work.selecting(length, @pipe)
        when :popping then Work.popping(@queue)
        else Work.looping((length * 65_000).ceil)
        end
        truth[kind] += Truths.wall - before
      end

      def feed
        while (length = @requests.pop)
          sleep(length)
          @queue << true
        end
      end
    end

    ALL = { "mixed" => Mixed, "threads" => Threads, "gc" => Collecting, "blocking" => Waiting }.freeze
  end
end
