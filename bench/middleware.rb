# frozen_string_literal: true

# Measures the CPU that the middleware takes of a request that needs no profile, by the thread's clock around the app: before it is
# called, after it has returned, and while the body is sent. So the app's own time, and how it varies, is left out. Contenders take
# turns in one process. Each figure is that of the fastest hundredth of the requests, less the same without the middleware: other
# processes can only make a request slower. BENCH_PAIRS is the number of turns of 30 requests.
$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "profiler"

module Bench
  # Apps and what is measured of them.
  module Middleware
    CLOCK = Process::CLOCK_THREAD_CPUTIME_ID
    TURN = 30
    FIRST = 3 # requests of a turn that do not count, as others have pushed their code out of the caches
    STRINGS = Array.new(60_000) { |number| "string number #{number}" }
    RANDOM = Random.new(1)
    # A body that may still have work to do, as those of Rails.
    Pieces = Struct.new(:part) do
      def each = yield(part)
      def close = nil
    end
    APPS = {
      "empty app" => ->(_env) { [200, {}, ["x"]] },
      "large app" => ->(_env) { [200, {}, [Array.new(3_000) { STRINGS[RANDOM.rand(60_000)].hash & 1 }.sum.to_s]] },
      "large app, its body not an Array" => lambda { |_env|
        [200, {}, Pieces.new(Array.new(3_000) { STRINGS[RANDOM.rand(60_000)].hash & 1 }.sum.to_s)]
      }
    }.freeze
    OPTIONS = { "idle" => {}, "slower_than" => { slower_than: 10 }, "slower_than, mode: :cpu" => { slower_than: 10, mode: :cpu },
                "slower_than, no tick" => { slower_than: 10, interval: 1_000_000 } }.freeze

    module_function

    def now = Process.clock_gettime(CLOCK, :nanosecond)

    # The app with its clock: how much of it passed up to the begin of the app, and from its end on.
    def clocked(app)
      lambda do |env|
        env["begun"] = now
        response = app.call(env)
        env["ended"] = now
        response
      end
    end

    # The ns outside of the app.
    def request(app)
      env = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/orders/17", "QUERY_STRING" => "", "rack.hijack" => -> {} }
      before = now
      body = app.call(env).last
      body.each(&:itself)
      body.close if body.respond_to?(:close)
      (env["begun"] - before) + (now - env["ended"])
    end

    def turn(app)
      FIRST.times { request(app) }
      Array.new(TURN) { request(app) }
    end

    # The us of each contender over none.
    def figures(app, turns)
      all = { "none" => clocked(app) }
      OPTIONS.each { |name, options| all[name] = Profiler::Middleware.new(all["none"], token: "x" * 20, **options) }
      times = Hash.new { |hash, name| hash[name] = [] }
      turns.times { all.to_a.shuffle.each { |name, entry| times[name].concat(turn(entry)) } }
      fastest = times.transform_values { |number| number.min([number.size / 100, 1].max).then { |some| some.sum.fdiv(some.size) } }
      OPTIONS.keys.to_h { |name| [name, (fastest[name] - fastest["none"]) / 1_000.0] }
    end

    def run(turns)
      columns = APPS.transform_values { |app| figures(app, turns) }
      rows = OPTIONS.keys.map { |name| "| #{name} | #{columns.values.map { |column| format("%.1f", column[name]) }.join(" | ")} |" }
      ["us of CPU that the middleware takes of a request, Ruby #{RUBY_VERSION}, #{turns} turns of #{TURN} requests", "",
       "| | #{APPS.keys.join(" | ")} |", "| --- | --- | --- | --- |", *rows].join("\n")
    end
  end
end

puts Bench::Middleware.run(Integer(ENV.fetch("BENCH_PAIRS", "60"))) if $PROGRAM_NAME == __FILE__
