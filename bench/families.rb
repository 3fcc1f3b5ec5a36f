# frozen_string_literal: true

require "etc"
require_relative "contenders"
require_relative "stats"

# Measures profiles method by method: six families of programs, each of which calls many methods in random order for random times,
# and keeps the times of each by its own clocks. One process, one run, one profiler.
module Bench
  module Families
    NAMES = 40 # as many as families.c has
    LENGTHS = (5_000_000..50_000_000).freeze # of a call, ns

    # Ruby code that computes, under as many names; and methods that return at once.
    module InRuby
      NAMES.times do |number|
        module_eval(<<~RUBY, __FILE__, __LINE__ + 1)
          def self.compute#{number}(ns)
            till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) + ns
            nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) < till
          end

          def self.return#{number}(value) = value
        RUBY
      end
    end

    KINDS = {
      "ruby" => %w[InRuby.compute], "c" => %w[InC.compute], "blocked" => %w[InC.block], "waiting" => %w[InC.wait],
      "mixed" => %w[InRuby.compute InC.compute InC.block InC.wait]
    }.freeze
    ALL = [*KINDS.keys, "calls"].freeze
    NO_CPU = /\AInC\.(?:block|wait)\d/.freeze # there is nothing that a profile of CPU time could be compared with
    CALLED = 10 # names of the family `calls`
    OURS = /\A(?:Bench::Families::)?(In(?:Ruby|C)\.[a-z]+\d+)\z/

    # Calls methods for some seconds, and keeps the times of each.
    class Program
      def initialize(family, random)
        @random = random
        @methods = KINDS.fetch(family).product(NAMES.times.to_a).map { |kind, number| "#{kind}#{number}" }.shuffle(random: random).first(NAMES)
        @calls = Hash.new { |calls, name| calls[name] = receiver(name) }
      end

      # The CPU time and the wall clock time of each method, ns. No garbage is collected meanwhile: a collection takes up to 80 ms here,
      # which the profile shows apart, and the program's own clocks would count for the method that was just called.
      def run(seconds)
        GC.start
        GC.disable
        @times = {}
        left = (seconds * 1e9).to_i
        until left <= 0
          length = @random.rand(LENGTHS)
          name = @methods.sample(random: @random)
          timed(name, @calls[name], length)
          left -= length
        end
        @times
      ensure
        GC.enable
      end

      private

      def receiver(name)
        receiver, method = name.split(".")
        (receiver == "InC" ? ::InC : InRuby).method(method)
      end

      # Reads the clocks right before and after the call: after a wait, each line of Ruby can take a tenth of a millisecond.
      def timed(name, method, length)
        cpu = now(Process::CLOCK_THREAD_CPUTIME_ID)
        wall = now(Process::CLOCK_MONOTONIC)
        method.call(length)
        wall = now(Process::CLOCK_MONOTONIC) - wall
        cpu = now(Process::CLOCK_THREAD_CPUTIME_ID) - cpu
        times = (@times[name] ||= { "cpu" => 0, "wall" => 0 })
        times["cpu"] += cpu
        times["wall"] += wall
      end

      def now(clock) = Process.clock_gettime(clock, :nanosecond)
    end

    # Calls methods that return at once, in random order. All take the same time, so the shares of the calls are those of the time.
    class Calls
      PIECE = 10_000

      def initialize(_family, random)
        @names = NAMES.times.to_a.sample(CALLED, random: random).map { |number| "return#{number}" }
        weights = @names.map { random.rand(1..20) }
        pieces = @names.zip(weights).flat_map { |name, weight| [name] * (PIECE * weight / weights.sum) }
        @pieces = Array.new(8) { pieces.shuffle(random: random) }
        @counts = pieces.tally
      end

      def run(seconds)
        till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
        @pieces.each { |piece| call(piece) } while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
        @counts.to_h { |name, count| ["InRuby.#{name}", { "cpu" => count, "wall" => count }] }
      end

      private

      def call(piece)
        piece.each { |name| InRuby.__send__(name, nil) }
      end
    end

    module_function

    # The true times of the methods and those of the profile, by the modes of the session (separated by commas); of the family
    # `calls` they are comparable as shares only. And the number of samples of these methods. Of a method that waits or is blocked,
    # only that time is compared: what it computes before and after is sampled, and other families measure how well.
    def measure(family, modes, interval_us, seed, seconds, busy)
      require "profiler"
      Extension.new("families").load
      program = (family == "calls" ? Calls : Program).new(family, Random.new(seed))
      neighbours(busy ? Etc.nprocessors : 0) do
        session = Profiler.start(mode: modes.split(",").map(&:to_sym), interval: interval_us)
        truth = program.run(seconds)
        rows = session.stop.samples.filter_map { |row| [method_of(row), row] }.select(&:first)
        { methods: modes.split(",").to_h { |mode| [mode, compared(truth, rows, mode)] }, samples: rows.sum { |_name, row| row.count } }
      end
    end

    def compared(truth, rows, mode)
      rows = rows.reject { |name, row| name.match?(NO_CPU) && row.state == :running }
      seen = rows.group_by(&:first).transform_values { |some| some.sum { |_name, row| row.public_send(mode) } }
      truth = truth.reject { |name, _times| name.match?(NO_CPU) } if mode == "cpu"
      truth.to_h { |name, times| [name, [name.match?(NO_CPU) ? times["wall"] - times["cpu"] : times[mode], seen.fetch(name, 0)]] }
    end

    def method_of(row)
      row.frames.each { |frame| frame.name.match(OURS) { |match| return match[1] } }
      nil
    end

    # The error of each method as a part of its time, and the mean error of as many independent samples.
    def errors(methods, samples, shares: false)
      sums = methods.values.transpose.map { |times| times.sum.to_f }
      errors = methods.transform_values { |truth, seen| (shares ? (seen / [sums[1], 1].max) - (truth / sums[0]) : (seen - truth) / sums[0]).abs * sums[0] / truth }
      [errors, Stats.chance_of_each(methods.values.map { |truth, _seen| truth / sums[0] }, samples)]
    end

    # Busy loops in other processes while the block runs.
    def neighbours(number)
      pids = Array.new(number) { spawn(RbConfig.ruby, "-e", "loop { }") }
      yield
    ensure
      pids&.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
    end
  end
end
