# frozen_string_literal: true

require_relative "contenders"
require "json"

# Measures the cost of allocating a profiled object, over a hook that does nothing. In one process all contenders take turns in
# random order, in slices of milliseconds. So a machine that changes its speed mostly has the same one for all of a round.
# Starting and stopping are not included.
module Bench
  module Allocations
    DOCUMENT = JSON.generate(Array.new(50) { |i| { "id" => "i#{i}", "tags" => %w[a b c], "score" => i / 3.0 } }).freeze

    LONG = 0.5 # s

    module_function

    def strings(number)
      i = 0
      while i < number
        _ = +"text"
        i += 1
      end
    end

    def objects(number)
      i = 0
      while i < number
        Object.new
        i += 1
      end
    end

    def json(number)
      (number / 400).times { JSON.parse(DOCUMENT) }
    end

    def descend(levels, &work)
      levels.positive? ? descend(levels - 1, &work) : work.call
    end

    WORK = {
      "strings" => method(:strings), "objects" => method(:objects), "json" => method(:json),
      "strings, 50 deep" => ->(number) { descend(45) { strings(number) } }
    }.freeze

    # A hook that does nothing, on allocated objects, and on freed ones.
    class Empty
      def initialize(freed: false, walk: 0)
        OnFloor.load
        @hooks = [true, freed, walk]
      end

      def start
        Floor.objects(*@hooks)
      end

      # The nanoseconds that were spent on another thread.
      def stop
        Floor.objects(false, false, 0)
        0
      end
    end

    class Ours
      def initialize(mode, every)
        require "profiler"
        @options = { mode: mode, every: every }
      end

      def start
        @session = Profiler.start(**@options)
      end

      def stop
        @session.stop.stats[:collector_ns]
      end
    end

    class Peer
      def initialize(every)
        require "stackprof"
        @every = every
      end

      def start
        StackProf.start(mode: :object, interval: @every, raw: false)
      end

      def stop
        StackProf.stop
        StackProf.results
        0
      end
    end

    class Nobody
      def start; end

      def stop
        0
      end
    end

    ARMS = {
      "off" => -> { Nobody.new },
      "empty hook" => -> { Empty.new },
      "empty hook, again" => -> { Empty.new }, # the noise
      "empty hooks, on the freed too" => -> { Empty.new(freed: true) }, # the least that :heap takes
      **[1, 100, 1_000].to_h { |every| ["a walk in it, #{every}", -> { Empty.new(walk: every) }] }, # the least that sampling takes
      **[1, 100, 1_000].to_h { |every| ["ours, #{every}", -> { Ours.new(:allocations, every) }] },
      "ours, heap, 1000" => -> { Ours.new(:heap, 1_000) },
      **[1, 100, 1_000].to_h { |every| ["stackprof, #{every}", -> { Peer.new(every) }] }
    }.freeze

    # The nanoseconds that an object took, for each arm in each of `pairs` rounds. The collector's part is measured in one long
    # slice. The collector wakes up four times a second, but at once after the start, which would be most of a short slice.
    def rounds(work, pairs, seconds)
      work = WORK.fetch(work)
      arms = Bench.loaded(ARMS)
      number = Bench.calibrate(work, seconds)
      # Arms that sample each object take many times as long.
      all = arms.map { |name, arm| [name, arm, name.end_with?(", 1") ? number / 8 : number] }
      elsewhere = all.to_h { |name, arm, few| [name, slice(work, arm, (few * LONG / seconds).round).last] }
      Array.new(pairs) { all.shuffle.to_h { |name, *one| [name, slice(work, *one).first + elsewhere[name]] } }
    end

    # @return [Array(Float, Float)] ns an object on this thread, and on others
    def slice(work, arm, number)
      arm.start
      work.call(number / 4) # starting leaves caches cold
      objects = GC.stat(:total_allocated_objects)
      cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
      work.call(number)
      cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - cpu
      objects = GC.stat(:total_allocated_objects) - objects
      [cpu, arm.stop].map { |ns| ns.fdiv(objects) }
    end
  end
end
