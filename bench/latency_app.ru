# frozen_string_literal: true

# The Rails app of rack_app.ru, for bench/latency.rb: with an always-on session, which a request for /switch/NAME changes.
require "rack/builder"
Rack::Builder.parse_file(File.join(__dir__, "rack_app.ru"))

# Ends the session that runs, and starts the one of that name. They differ only in who gets the windows.
class Switch
  NOBODY = ->(_profile) {}
  SINKS = { "off" => -> { NOBODY }, "off_again" => -> { NOBODY }, "otlp" => -> { Profiler::Otlp.new(ENV.fetch("RECEIVER"), service: "bench") },
            "pyroscope" => -> { Profiler::Pyroscope.new(ENV.fetch("RECEIVER"), service: "bench") } }.freeze

  # Says how many windows of the session before were delivered, and lost.
  def call(env)
    name = env["PATH_INFO"].delete_prefix("/")
    before = Profiler::Continuous.current
    before&.stop
    Profiler.continuous(to: SINKS.fetch(name).call, period: Float(ENV.fetch("PERIOD"))) if SINKS.key?(name)
    [200, { "content-type" => "text/plain" }, ["#{before&.delivered.to_i} #{before&.lost.to_i}\n"]]
  end
end

map("/switch") { run Switch.new }
map("/") do
  use Profiler::Middleware, token: "x" * 20
  run BenchApp
end
