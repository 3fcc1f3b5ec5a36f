# frozen_string_literal: true

# Traces that come and go, with and without a log, while the traced methods are called, redefined, raise, switch fibers and lose
# their threads. Each trace counts exactly the calls that were made on its own thread, and leaves no hook behind.
module Stress
  class Traced
    def plain(number) = number.to_s

    def raising(number)
      raise ArgumentError, "odd" if number.odd?

      number
    end

    def deep(number) = number.zero? ? 0 : 1 + deep(number - 1)

    def switching
      Fiber.yield
      :switched
    end

    define_method(:defined) { |number, more = {}| more.size + number }
  end

  TRACED = {
    plain: ->(object, number) { object.plain(number) },
    raising: ->(object, number) { object.raising(number) rescue nil },
    deep: ->(object, _number) { object.deep(20) },
    switching: ->(object, _number) { 2.times { |_| Fiber.new { object.switching }.tap(&:resume).resume } },
    defined: ->(object, number) { object.defined(number, password: "x" * 20) }
  }.freeze
  LOGS = [{}, {}, { args: true }, { args: true, returns: true, show: %w[number] }, { when: "ms > 0.01 and number != 3" }, { when: "raised", args: true }].freeze

  3.times do |number|
    worker("traces #{number}") do
      next sleep(0.1) unless PROFILED

      # A class that only this thread knows, so that the number of calls is known.
      klass = Class.new(Traced) { class_eval("def own(number) = number.to_s", __FILE__, __LINE__) }
      object = klass.new
      trace = Profiler.trace(klass.instance_method(:own), max_overhead: 1, **LOGS.sample)
      calls = rand(50)
      calls.times { |turn| object.own(turn) }
      work(50)
      seen = trace.stop.calls
      wrong("a trace that counts wrongly", "#{seen} of #{calls}, #{trace.to_h[:ended]}") if seen != calls
      object.own(1)
      wrong("a trace that goes on after its end", "#{trace.calls} of #{calls}") if trace.calls != calls
      trace.to_s
      count(:traces)
    end
    worker("shared traces #{number}") do
      next sleep(0.1) unless PROFILED

      name = TRACED.keys.sample
      next step if name == :defined && RUBY_VERSION < "3.3" # where only one TracePoint at a time is safe

      Profiler.trace("Stress::Traced##{name}", max_overhead: 1, limit: [nil, nil, 20].sample, **LOGS.sample) do
        10.times { |turn| TRACED.fetch(name).call(Traced.new, turn) }
        step
      end
      count(:shared)
    end
    worker("calls inside #{number}") do
      next sleep(0.1) unless PROFILED

      klass = Class.new(Traced) { class_eval("def outer(number) = [number].each { |it| own(it) } && deep(5)\ndef own(number) = number.to_s", __FILE__, __LINE__) }
      object = klass.new
      trace = Profiler.trace(klass.instance_method(:outer), max_overhead: 1, calls: true)
      calls = rand(20)
      calls.times { |turn| object.outer(turn) }
      work(20)
      result = trace.stop.to_h
      inside = result[:functions].to_h { |function| [function[:name][/\w+\z/], function] }
      seen = %w[outer own deep].map { |name| inside.dig(name, :calls) || 0 }
      wrong("a trace that counts what runs inside wrongly", "#{seen} of #{calls}, #{result[:ended]}") if seen != [calls, calls, 6 * calls]
      own = result[:functions].sum { |function| function[:self_ns] }
      wrong("self times that do not add up", "#{own} of #{inside["outer"]}") if calls.positive? && own != inside["outer"][:total_ns]
      sleep(0.05) # as it slows down all others
      count(:inside)
    end
    worker("calls #{number}") do
      20.times { |turn| TRACED.each_value { |call| call.call(Traced.new, turn) } }
      sleep(0.005) # so that those that trace get their turns
    end
  end
  worker("methods that are redefined") do
    Traced.class_eval("def plain(number) = #{rand(1_000)}.to_s", __FILE__, __LINE__)
    sleep(0.01)
    count(:redefined)
  end
  worker("threads that end in a traced method") do
    thread = Thread.new { Traced.new.then { |object| loop { object.deep(10); object.defined(1) } } }
    sleep(0.01)
    rand < 0.5 ? thread.kill : thread.raise(ArgumentError, "away")
    thread.report_on_exception = false
    thread.join rescue nil
    count(:ended)
  end
  worker("garbage") do
    GC.start
    GC.compact if GC.respond_to?(:compact)
    sleep(0.02)
  end
  worker("other TracePoints") do
    TracePoint.new(:call) { |_| nil }.enable(target: Traced.instance_method(:deep)) { Traced.new.deep(5) }
    sleep(0.01)
  end
end
