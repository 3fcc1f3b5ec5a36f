# frozen_string_literal: true

# Measures the CPU that the middleware takes from a request, which is lost in the noise of throughput. Contenders take turns of some
# requests in a row, as in a server all requests go the same way. The first requests of a turn do not count, as others have pushed
# their code out of the caches. Run by bench/rack.rb; prints rows of markdown.
require "rack"
require "rack/mock"
require_relative "stats"

module Bench
  # All in one process, on one thread, without a server.
  module RackTurns
    APP = File.join(__dir__, "rack_app.ru")
    TURN = 30 # requests
    FIRST = 3

    module_function

    def contenders
      ::Rack::Builder.parse_file(APP)
      watched = ->(**options) { Profiler::Middleware.new(BenchApp, token: "x" * 20, **options) }
      {
        "none" => BenchApp, "none_again" => BenchApp, "idle" => watched.call,
        "slower_than" => watched.call(slower_than: 10),
        "slower_than, no tick" => watched.call(slower_than: 10, interval: 1_000_000),
        "slower_than_cpu" => watched.call(slower_than: 10, mode: :cpu),
        "a session before each" => lambda { |env|
          Profiler.run(threads: :current, interval: 10_000) { nil }
          BenchApp.call(env)
        }
      }
    end

    def request(app)
      body = app.call(::Rack::MockRequest.env_for("/orders/1")).last
      body.each(&:itself)
      body.close if body.respond_to?(:close)
    end

    # The us of CPU, of all threads, that each request took.
    def turn(app)
      GC.start # garbage of earlier turns counts for none
      FIRST.times { request(app) }
      before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      TURN.times { request(app) }
      (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before) * 1e6 / TURN
    end

    def run(rounds)
      all = contenders
      all.each_value { |app| 10.times { request(app) } }
      GC.disable
      times = Array.new(rounds) { all.to_a.shuffle.to_h { |name, app| [name, turn(app)] } }
      middle = Stats.median(times.map { |number| number["none"] })
      rows = all.keys.drop(1).map do |name|
        over = Stats.figure(times) { |some| Stats.trimmed_mean(some.map { |round| round[name] - round["none"] }) }
        ratio = Stats.figure(times) { |some| Stats.median(some.map { |round| round["none"] / round[name] }) }
        "| #{name} | #{over.text(0)} | #{ratio.text(3)} |"
      end
      ["#{rounds} turns of #{TURN} requests each; #{middle.round} us of CPU a request without any of them", "",
       "| | us of CPU over none | requests in a second of CPU, with / without |", "| --- | --- | --- |", *rows].join("\n")
    end
  end
end

puts Bench::RackTurns.run(Integer(ARGV.fetch(0))) if $PROGRAM_NAME == __FILE__
