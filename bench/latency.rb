# frozen_string_literal: true

# Measures what the upload of windows takes from the latency of requests: a Rails app in Puma under wrk, whose always-on session sends its
# windows to an engine, or drops them ("off"). BENCH_PAIRS rounds, in which all take turns of BENCH_SECONDS, whole ones. Windows last
# BENCH_PERIOD seconds. Each figure is the median of the ratios to "off" of the same round; off_again is the noise. "none" has no session.
require "fileutils"
require "net/http"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "stats"

module Bench
  # A server whose session changes between turns.
  module Latency
    APP = File.join(__dir__, "latency_app.ru")
    CONTENDERS = %w[off off_again none otlp pyroscope]
                 .select { |name| name == "off" || name.match?(/\A(?:#{ENV.fetch("BENCH_ROWS", ".*")})\z/) }.freeze
    UNITS = { "us" => 1e-3, "ms" => 1, "s" => 1e3 }.freeze
    PERIOD = ENV.fetch("BENCH_PERIOD", "5")
    CONNECTIONS = Integer(ENV.fetch("BENCH_CONNECTIONS", "4"))
    FIGURES = { "p99" => :p99, "median" => :p50, "CPU of a request" => :cpu }.freeze

    module_function

    def run(pairs, seconds)
      Dir.mktmpdir("latency") do |box|
        receiving do |url|
          serving(box, url) do |port, pid|
            CONTENDERS.each { |name| turn(port, pid, name, 1) } # warm
            report(Array.new(pairs) { CONTENDERS.shuffle.to_h { |name| [name, turn(port, pid, name, seconds)] } }, seconds)
          end
        end
      end
    end

    # Yields the URL of a process that reads requests and answers 200.
    def receiving
      server = TCPServer.new("127.0.0.1", 0)
      pid = fork { loop { answer(server.accept) } }
      yield "http://127.0.0.1:#{server.addr[1]}"
    ensure
      finish(pid, :KILL)
      server&.close
    end

    def answer(socket)
      head = +""
      head << socket.gets until head.end_with?("\r\n\r\n")
      socket.read(head[/content-length: (\d+)/i, 1].to_i)
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      socket.close
    end

    # Yields the port of the server, and its pid.
    def serving(box, url)
      port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
      env = { "BOX" => box, "RUBYOPT" => "-W0", "RAILS_ENV" => "production", "RACK_ENV" => "production", "RECEIVER" => url, "PERIOD" => PERIOD }
      pid = Process.spawn(env, "puma", "-q", "-t", "4:4", "-b", "tcp://127.0.0.1:#{port}", APP, chdir: box, %i[out err] => File.join(box, "log"))
      300.times do
        break if Net::HTTP.get_response("127.0.0.1", "/orders/1", port).is_a?(Net::HTTPOK)
      rescue SystemCallError
        sleep 0.1
      end
      yield port, pid
    ensure
      finish(pid, :TERM)
    end

    def finish(pid, signal)
      return unless pid

      Process.kill(signal, pid)
      Process.wait(pid)
    end

    # The ms of a request at two percentiles, the ms of the server's CPU that it took, and the windows that were delivered.
    def turn(port, pid, name, seconds)
      Net::HTTP.get("127.0.0.1", "/switch/#{name}", port)
      before = cpu_ms(pid)
      out = IO.popen(["wrk", "-t1", "-c#{CONNECTIONS}", "-d#{seconds}s", "--latency", "http://127.0.0.1:#{port}/orders/1"], &:read)
      raise out if out.match?(/Non-2xx|Socket errors/)

      took = cpu_ms(pid) - before
      delivered, lost = Net::HTTP.get("127.0.0.1", "/switch/none", port).split.map { |word| Integer(word) }
      raise "#{name}: #{lost} windows were lost" unless lost.zero?

      { p99: percentile(out, 99), p50: percentile(out, 50), cpu: took / Integer(out[/(\d+) requests in/, 1]), windows: delivered }
    end

    def percentile(out, number)
      value, unit = out.match(/^ +#{number}% +([\d.]+)([a-z]+)$/).captures
      Float(value) * UNITS.fetch(unit)
    end

    # The CPU clock of that process, as clock_getcpuclockid(3) has it.
    def cpu_ms(pid) = Process.clock_gettime((~pid << 3) | 2, :float_millisecond)

    def report(rounds, seconds)
      off = FIGURES.values.to_h { |of| [of, Stats.median(rounds.map { |round| round["off"][of] })] }
      rows = CONTENDERS.drop(1).map do |name|
        ratios = FIGURES.values.map { |of| Stats.figure(rounds) { |them| Stats.median(them.map { |round| round[name][of] / round["off"][of] }) }.text(3) }
        "| #{name} | #{[*ratios, rounds.sum { |round| round[name][:windows] }].join(" | ")} |"
      end
      [format("%d rounds, turns of %d s, windows of %s s; off: p99 %.2f ms, median %.2f ms, %.2f ms of CPU a request", rounds.size, seconds, PERIOD,
              *off.values_at(:p99, :p50, :cpu)), "",
       "| | #{FIGURES.keys.map { |name| "#{name}, with / off" }.join(" | ")} | windows |", "| --- | --- | --- | --- | --- |", *rows].join("\n")
    end
  end
end

if $PROGRAM_NAME == __FILE__
  text = Bench::Latency.run(Integer(ENV.fetch("BENCH_PAIRS", "20")), Integer(ENV.fetch("BENCH_SECONDS", "10")))
  puts text
  out = ENV.fetch("BENCH_OUT", File.expand_path("../tmp/bench", __dir__))
  FileUtils.mkdir_p(out)
  File.write(File.join(out, "latency.md"), text)
end
