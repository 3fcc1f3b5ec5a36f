# frozen_string_literal: true

require_relative "accuracy_report"
require_relative "allocations_report"
require_relative "contenders"
require_relative "eintr_report"
require_relative "engines"
require_relative "names"
require_relative "report"
require_relative "sessions"
require_relative "stats"
require_relative "ticks_report"
require_relative "workloads"
require "json"

# ruby bench/run.rb overhead | cost | handler | engines | ticks | accuracy | allocations | eintr | start_stop | churn | names
module Bench
  SECONDS = Float(ENV.fetch("BENCH_SECONDS", 0.3)) # of CPU, a slice
  COST_LIMIT = 1.2       # cost of a sample, times the floor's
  WARM_LIMIT_US = 15     # to start and stop a session of this thread around nothing
  LOADING_LIMIT_MS = 4   # to load, more than an extension of a few functions
  SECOND_LIMIT_US = 150  # to start and stop it the second time in a process
  NAME_LIMIT_NS = 5_000  # to name a function
  SEARCH_LIMIT_MS = 50   # to find methods of define_method among 20,000
  HANDLER_LIMIT = 1.15   # the handler, times a bare rb_profile_frames ...
  HANDLER_EXTRA_NS = 700 # ... and this
  CHANCE_LIMIT = 1.2     # distance of a profile of running code from the truth, times that of as many independent samples
  DISTANCE_LIMIT = 0.01  # the same, of what is measured, not sampled
  CPU_NEEDED = 0.9       # of a CPU, for programs that never wait to be right about the wall clock
  EINTR_LIMIT = 0.02     # calls ended by a signal, where the GVL is held: of the ticks that fell due

  module Run
    module_function

    def pairs(default)
      Integer(ENV.fetch("BENCH_PAIRS", default))
    end

    # Runs every row in a process of its own, so that no contender inherits what another leaves behind.
    def child(*order, env: {})
      warn "bench: #{order.join(" ")}"
      output = IO.popen(env, [RbConfig.ruby, "-I", "#{ROOT}/lib", "#{__dir__}/child.rb", JSON.generate(order)], &:read)
      raise "bench: #{order.inspect} failed (#{$?})" unless $?.success?

      JSON.parse(output)
    end

    def at_depths(report, rows)
      report.table(["", *Workloads::DEPTHS.map { |depth| "depth #{depth}" }], rows)
    end

    def overhead
      report = Report.new("overhead", "CPU time with a profiler / without")
      rates = []
      rows = Bench.available("null", "floor_empty", "floor", "stackprof", "ours").map do |arm|
        measured = child(:row, arm, pairs(30), SECONDS).values.map do |blocks|
          rate = blocks.sum { |block| block[arm]["samples"] } / blocks.sum { |block| block[arm]["cpu"] }
          [Stats.figure(blocks) { |some| Stats.median(some.map { |block| block[arm]["cpu"] / block["off"]["cpu"] }) }, rate]
        end
        rates << [arm, *measured.map { |_ratio, rate| rate.round(1) }]
        [arm, *measured.map { |ratio, _rate| ratio.text(4) }]
      end
      report.text("Median of #{pairs(30)} pairs. `null` is a run without a profiler: the noise.")
      report.table(["", *Workloads::ALL.keys], rows)
      report.text("Samples per second of CPU, of #{1_000_000 / INTERVAL_US} requested")
      report.table(["", *Workloads::ALL.keys], rates)
      report.publish
    end

    def cost
      report = Report.new("cost", "What a sample costs")
      arms = Bench.available("null", "floor_empty", "floor", "floor_timed", "stackprof", "ours")
      by_depth = Workloads::DEPTHS.map { |depth| child(:blocks, "depth#{depth}", ["off", *arms], pairs(150), SECONDS) }
      report.text("CPU time that the profiler adds, us a sample (the collector thread's included): trimmed mean of #{pairs(150)} differences")
      sampling = arms - ["null"]
      rows = sampling.map { |arm| [arm, *by_depth.map { |blocks| Stats.figure(blocks) { |some| Stats.cost(some, arm) * 1e6 }.text(1) }] }
      # The same difference of no profiler at all, as if it had taken the floor's samples.
      noise = ->(blocks) { Stats.cost(blocks.map { |block| block.merge("null" => block["floor"].merge("cpu" => block["null"]["cpu"])) }, "null") * 1e6 }
      at_depths(report, [["null (noise)", *by_depth.map { |blocks| Stats.figure(blocks, &noise).text(1) }], *rows])
      report.text("ours / floor; the demand is at most #{COST_LIMIT}")
      delivery = Stats.figure(by_depth.flatten(1)) { |some| Stats.cost(some, "floor_empty") * 1e9 }
      at_depths(report, ratios(by_depth, delivery))
      parts(report, by_depth, delivery)
      report.publish
    end

    # Delivery costs the same whatever the handler does, so it is taken from all depths; the rest is timed in place.
    def ratios(by_depth, delivery)
      measured = by_depth.map { |blocks| Stats.figure(blocks) { |some| Stats.ratio(some) } }
      composed = by_depth.map do |blocks|
        ratio = ->(base, some) { (base + ours_ns(some)) / (base + Stats.each_ns(some, "floor_timed", "handler_ns", "ticks")) }
        inner = Stats.figure(blocks) { |some| ratio.call(delivery.value, some) }
        ends = [inner.low, inner.high, ratio.call(delivery.low, blocks), ratio.call(delivery.high, blocks)]
        next Figure.new(inner.value, inner.low, inner.high, false) if ends.any?(&:nan?) # slices without a tick say nothing

        Figure.new(inner.value, *ends.minmax, inner.solid && delivery.solid && delivery.low.positive?)
      end
      { "of the differences" => measured, "of the parts (below)" => composed }.flat_map do |name, figures|
        [[name, *figures.map { |figure| figure.text(3) }], ["demand", *figures.map { |figure| figure.verdict(COST_LIMIT) }]]
      end
    end

    def ours_ns(blocks)
      Stats.each_ns(blocks, "ours", "handler_ns", "ticks") + Stats.each_ns(blocks, "ours", "collector_ns", "samples")
    end

    def parts(report, by_depth, delivery)
      report.text("The parts, ns. Delivery (the floor's empty handler, all depths): #{delivery.text(0)}. Median of slices, read by two monotonic clocks:")
      figure = ->(*what) { by_depth.map { |blocks| Stats.figure(blocks) { |some| Stats.each_ns(some, *what) }.text(0) } }
      at_depths(report, [["floor: handler a tick", *figure.call("floor_timed", "handler_ns", "ticks")],
                         ["ours: handler a tick", *figure.call("ours", "handler_ns", "ticks")],
                         ["ours: collector a sample", *figure.call("ours", "collector_ns", "samples")]])
    end

    def handler
      report = Report.new("handler", "The handler alone, ns a tick")
      arms = %w[floor_timed floor_clock_timed ours]
      by_depth = Workloads::DEPTHS.map do |depth|
        { blocks: child(:blocks, "depth#{depth}", arms, pairs(40), SECONDS), loops: child(:handlers, depth, pairs(40)) }
      end
      ticking = ->(arm) { by_depth.map { |depth| Stats.figure(depth[:blocks]) { |some| Stats.each_ns(some, arm, "handler_ns", "ticks") } } }
      loops = lambda do |&value|
        by_depth.map { |depth| Stats.figure(depth[:loops]) { |some| Stats.median(some.map(&value)) } }
      end
      texts = ->(figures) { figures.map { |figure| figure.text(0) } }
      added = loops.call { |pair| pair["ours"] - (HANDLER_LIMIT * pair["bare"]) }
      report.text("In a tight loop, ns, median of #{pairs(40)} pairs. The demand: at most #{HANDLER_LIMIT} x bare rb_profile_frames + #{HANDLER_EXTRA_NS}.")
      at_depths(report, [["frames", *by_depth.map { |depth| depth[:loops].first["frames"] }],
                         ["bare rb_profile_frames", *texts.call(loops.call { |pair| pair["bare"] })],
                         ["that, and the three clocks", *texts.call(loops.call { |pair| pair["exact"] })],
                         ["ours", *texts.call(loops.call { |pair| pair["ours"] })],
                         ["ours - #{HANDLER_LIMIT} x bare", *texts.call(added)],
                         ["demand", *added.map { |figure| figure.verdict(HANDLER_EXTRA_NS) }]])
      report.text("As it is delivered, caches cold: median of #{pairs(40)} slices, each the mean of its ticks, with what interrupted them")
      at_depths(report, [["floor (one walk)", *texts.call(ticking.call("floor_timed"))],
                         ["floor, and the thread's CPU clock", *texts.call(ticking.call("floor_clock_timed"))],
                         ["ours", *texts.call(ticking.call("ours"))]])
      report.publish
    end

    # A slice is long: ticks of the first milliseconds come from elsewhere.
    def engines
      report = Report.new("engines", "Ticks, and what they take")
      report.text("Median of #{pairs(20)} pairs, #{(SECONDS * 5).round(1)} s of CPU each, one tick in #{INTERVAL_US} us requested")
      rows = Engines::ARMS.keys.product([1, 4]).map do |arm, threads|
        found = child(:engines, arm, pairs(20), SECONDS * 5, threads)
        next [arm, threads, *["0 (not here)"] * 3] unless found

        shares = Stats.figure(found) { |some| Stats.median(some.map { |round| 100 * round["on"]["share"] }) }
        ratios = %w[cpu wall].map do |of|
          Stats.figure(found) { |some| Stats.median(some.map { |round| round["on"][of] / round["off"][of] }) }.text(3)
        end
        [arm, threads, shares.text(1), *ratios]
      end
      report.table(["", "threads", "ticks that came, %", "CPU, with / without", "wall clock, with / without"], rows)
      report.publish
    end

    def start_stop
      report = Report.new("start_stop", "To start and to stop, us")
      arms = Bench.available("floor", "stackprof", "ours")
      report.text("Median of #{pairs(200)} sessions. Informative: no demand hangs on it.")
      columns = [["nothing", 0], ["5 ms of CPU", 0.005]]
      rows = arms.map do |arm|
        [arm, *columns.flat_map do |_name, seconds|
          sessions = child(:sessions, arm, pairs(200), seconds)
          %w[start stop].map { |part| Stats.figure(sessions.map { |session| session[part] }) { |some| Stats.median(some) }.text(1) }
        end]
      end
      report.table(["", *columns.flat_map { |name, _| ["#{name}: start", "#{name}: stop"] }], rows)
      around_nothing(report)
      loading(report)
      report.publish
    end

    # Each process has one first and one second session, so there are several processes.
    def around_nothing(report)
      processes = Array.new(pairs(20)) { child(:around_nothing, pairs(2_000)) }
      report.text("`Profiler.run(threads: :current) { }`, us, of #{processes.size} processes. This machine may change its speed from second to " \
                  "second: it has two, as somebody else has the other half of its cores or not. `warm, undisturbed` are those beside " \
                  "which a loop took at most 1.3 times as long as ever.")
      middle = ->(some, &each) { Stats.median(some.flat_map(&each)) }
      figures = [Stats.figure(processes) { |some| middle.call(some) { |result| [result["first"]] } },
                 Stats.figure(processes) { |some| middle.call(some) { |result| [result["second"]] } }, *warm(processes, "ours")]
      demand = ["demand", "", verdict(figures[1], SECOND_LIMIT_US), "", verdict(figures[3], WARM_LIMIT_US)]
      stackprof = processes.first["stackprof"] ? [["stackprof", "", "", *warm(processes, "stackprof").map { |figure| figure.text(1) }]] : []
      report.table(["", "first", "second", "warm", "warm, undisturbed"],
                   [["around nothing", *figures.map { |figure| figure.text(1) }], *stackprof, demand])
    end

    def warm(processes, who)
      at_both_speeds(processes.flat_map { |process| process[who] })
    end

    # Figures that each come with the time of a loop: all of them, and those at the better of the machine's two speeds.
    def at_both_speeds(timed)
      best = timed.map(&:last).min
      [timed, timed.select { |_figure, loop_us| loop_us <= best * 1.3 }].map do |some|
        Stats.figure(some) { |drawn| Stats.median(drawn.map(&:first)) }
      end
    end

    def loading(report)
      OnFloor.load
      processes = Array.new(pairs(150)) { child(:loading) }
      figures = at_both_speeds(processes.map { |process| [process["ours"] - process["floor"], process["loop"]] })
      report.text("`require \"profiler\"`, ms more than the floor, an extension of a few functions, takes to load; #{processes.size} processes.")
      report.table(["", "all", "undisturbed"], [["over the floor", *figures.map { |figure| figure.text(2) }],
                                               ["demand", "", verdict(figures.last, LOADING_LIMIT_MS)]])
    end

    def verdict(figure, limit)
      "at most #{limit}: #{figure.verdict(limit)}"
    end

    def churn
      report = Report.new("churn", "Sessions that come and go")
      seconds = Float(ENV.fetch("BENCH_SECONDS", 60))
      found = child(:churn, seconds)
      report.text("#{Sessions::THREADS} threads, #{found["rate"].round} starts and stops a second (of #{Sessions::RATE} requested) for #{found["seconds"]} s; us")
      row = ->(name, of) { [name, *found[of].values_at("p50", "p99", "most").map { |value| value.round(1) }] }
      report.table(["", "p50", "p99", "most"], [row.call("stop", "stop"), row.call("a minor GC, with them", "gc_with"),
                                                row.call("a minor GC, without", "gc_without")])
      report.publish
    end

    def names
      report = Report.new("names", "To name what was seen")
      report.text("Median of #{pairs(20)} processes. In the first, #{Names::METHODS} functions of one stack; in the others one method of " \
                  "`define_method` among #{Names::MODULES * 20} methods, and the same again.")
      parts = { frames: %w[each_ns], search: %w[first again] }.flat_map do |part, figures|
        found = Array.new(pairs(20)) { child(:names, part) }
        figures.map { |name| Stats.figure(found) { |some| Stats.median(some.map { |round| round[name] }) } }
      end
      each, first, again = parts
      demands = ["at most #{NAME_LIMIT_NS}: #{each.verdict(NAME_LIMIT_NS)}", "at most #{SEARCH_LIMIT_MS}: #{first.verdict(SEARCH_LIMIT_MS)}"]
      report.table(["", "a function, ns", "the search, ms", "again, ms"],
                   [["ours", each.text(0), first.text(1), again.text(3)], ["demand", *demands, ""]])
      report.publish
    end
  end

  name = ARGV.fetch(0, "overhead")
  all = %w[overhead cost handler engines ticks accuracy allocations eintr start_stop churn names]
  abort "bench: #{name} is not one of #{all.join(", ")}" unless all.include?(name)

  $LOAD_PATH.unshift("#{ROOT}/lib")
  Run.public_send(name)
end
