# frozen_string_literal: true

require_relative "extension"

# The contenders. Each has `start`, and `stop`, which returns at least `samples`. A contender that does not load here is left out.
module Bench
  INTERVAL_US = Integer(ENV.fetch("BENCH_INTERVAL", 1_000)) # finer than the kernel's tick, so the engine ticks as often as it can

  # No profiler: its row is the noise of the run.
  class Null
    def start; end

    def stop
      { samples: 0 }
    end
  end

  # This gem.
  class Ours
    def initialize(**options)
      require "profiler"
      @options = options
    end

    def start
      @session = Profiler.start(interval: INTERVAL_US, **@options)
    end

    def stop
      stats = @session.stop.stats
      stats.slice(:samples, :handler_ns, :collector_ns, :names_ns).merge(ticks: stats[:captured] + stats[:dropped])
    end
  end

  # The peer that Debian packages.
  class Stackprof
    def initialize(mode)
      require "stackprof"
      @mode = mode
    end

    def start
      StackProf.start(mode: @mode, interval: INTERVAL_US)
    end

    def stop
      StackProf.stop
      { samples: StackProf.results[:samples] }
    end
  end

  # The gem's engine with a handler of our choice (floor/floor.c), built when it is first used.
  class OnFloor
    EXTENSION = Extension.new("floor")

    def self.load
      EXTENSION.load
    end

    def initialize(*parts, engine: :TIMER)
      self.class.load
      @parts = parts.sum { |part| Floor.const_get(part) }
      @engine = Floor.const_get(engine)
    end

    def start
      Floor.start(@parts, INTERVAL_US, Thread.list.filter_map(&:native_thread_id), @engine)
    end

    def stop
      ticks, ns = Floor.stop
      { samples: ticks, ticks: ticks, handler_ns: ns }
    end
  end

  CONTENDERS = {
    "off" => -> { Null.new },
    "null" => -> { Null.new },
    "floor_empty" => -> { OnFloor.new },
    "floor" => -> { OnFloor.new(:WALK) },
    "floor_timed" => -> { OnFloor.new(:WALK, :TIMED) },
    "floor_clock_timed" => -> { OnFloor.new(:WALK, :THREAD_CLOCK, :TIMED) }, # also reads what a weight needs
    "stackprof" => -> { Stackprof.new(:cpu) },
    "stackprof wall" => -> { Stackprof.new(:wall) },
    "ours" => -> { Ours.new(mode: :cpu, engine: :thread_timer) }, # the floor's
    "floor perf" => -> { OnFloor.new(:WALK, engine: :PERF) },
    "floor ticker" => -> { OnFloor.new(:WALK, engine: :TICKER) },
    "floor wall" => -> { OnFloor.new(:WALK, :GVL, engine: :TICKER) },
    "ours perf" => -> { Ours.new(mode: :cpu, engine: :perf) },
    "ours ticker" => -> { Ours.new(mode: :cpu, engine: :ticker) },
    "ours wall" => -> { Ours.new(mode: :wall) }
  }.freeze

  # The contenders that load here, from a table of names and constructors.
  def self.loaded(makers)
    makers.filter_map do |name, make|
      [name, make.call]
    rescue LoadError => e
      raise if name.start_with?("ours")

      warn "bench: #{name} is left out: #{e.message.lines.first}"
    end.to_h
  end

  def self.available(*names)
    names.select do |name|
      CONTENDERS.fetch(name).call
    rescue LoadError => e
      raise if name.start_with?("ours")

      warn "bench: #{name} is left out: #{e.message.lines.first}"
    end
  end
end
