# frozen_string_literal: true

require "json"

# Fixed work: a workload does `n` rounds of it. All workloads are pure CPU and leave nothing behind.
module Bench
  module Workloads
    DOCUMENT = { "users" => Array.new(50) { |i| { "id" => i, "name" => "user #{i}", "tags" => %w[a b c], "score" => i / 3.0 } } }.freeze

    module_function

    def fib(number)
      number < 2 ? number : fib(number - 1) + fib(number - 2)
    end

    def step(number)
      number & 1023
    end

    def spin(rounds)
      i = 0
      while i < rounds
        step(i)
        i += 1
      end
    end

    def descend(levels, &work)
      levels.positive? ? descend(levels - 1, &work) : work.call
    end

    # Runs the block at the bottom of a stack of about +depth+ frames.
    def at_depth(depth, &work)
      descend(depth - caller.size - 3, &work)
    end

    DEPTHS = [10, 50, 200, 1000].freeze
    ALL = {
      "fib" => ->(rounds) { rounds.times { fib(12) } },
      "json" => ->(rounds) { rounds.times { JSON.parse(JSON.generate(DOCUMENT)) } },
      "blocks" => ->(rounds) { rounds.times { (1..100).map { |i| i * 2 }.select(&:even?).each_slice(5).sum { |slice| slice.sum } } },
      **DEPTHS.to_h { |depth| ["depth#{depth}", ->(rounds) { at_depth(depth) { spin(rounds * 100) } }] }
    }.freeze

    PIPE = IO.pipe

    # Releases the GVL and takes it back, twice, with some work in between: about 100,000 times a second on the machine of
    # README.md's figures. No other thread wants the GVL.
    WAITING = {
      "switches" => lambda do |rounds|
        reader, writer = PIPE
        rounds.times do
          writer.syswrite("x")
          spin(150)
          reader.sysread(1)
          spin(150)
        end
      end
    }.freeze

    def any(name)
      ALL[name] || WAITING.fetch(name)
    end
  end
end
