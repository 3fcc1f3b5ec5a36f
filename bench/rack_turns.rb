# frozen_string_literal: true

# CPU that the middleware takes from the thread of a request, one request of each contender after the other: what throughput loses in the
# noise. Run by bench/rack.rb; prints rows of markdown.
require "rack"
require "rack/mock"
require_relative "stats"

module Bench
  # All in one process, on one thread, without a server.
  module RackTurns
    APP = File.join(__dir__, "rack_app.ru")
    EACH_GC = 10 # rounds between two garbage collections, which are nobody's

    module_function

    def contenders
      ::Rack::Builder.parse_file(APP)
      watched = ->(**options) { Profiler::Middleware.new(BenchApp, token: "x" * 20, **options) }
      {
        "none" => BenchApp, "none_again" => BenchApp, "idle" => watched.call,
        "slower_than" => watched.call(slower_than: 10),
        "slower_than, no tick" => watched.call(slower_than: 10, interval: 1_000_000),
        "slower_than_wall" => watched.call(slower_than: 10, mode: %i[cpu wall]),
        "a session before each" => lambda { |env|
          Profiler.run(threads: :current, interval: 10_000) { nil }
          BenchApp.call(env)
        }
      }
    end

    def request(app)
      before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
      body = app.call(::Rack::MockRequest.env_for("/orders/1")).last
      body.each(&:itself)
      body.close if body.respond_to?(:close)
      (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - before) / 1e3
    end

    def run(rounds)
      all = contenders
      all.each_value { |app| 10.times { request(app) } }
      GC.disable
      times = Array.new(rounds) do |round|
        GC.start if (round % EACH_GC).zero?
        all.to_a.shuffle.to_h { |name, app| [name, request(app)] }
      end
      middle = Stats.median(times.map { |it| it["none"] })
      rows = all.keys.drop(1).map do |name|
        figure = Stats.figure(times) { |some| Stats.trimmed_mean(some.map { |it| it[name] - it["none"] }) }
        "| #{name} | #{figure.text(0)} | #{format("%.1f", 100 * figure.value / middle)} |"
      end
      ["#{rounds} requests of each, one of each in turn; #{middle.round} us of CPU without any of them", "",
       "| | us of the thread's CPU over none | % |", "| --- | --- | --- |", *rows].join("\n")
    end
  end
end

puts Bench::RackTurns.run(Integer(ARGV.fetch(0))) if $PROGRAM_NAME == __FILE__
