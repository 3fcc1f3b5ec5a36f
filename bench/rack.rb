# frozen_string_literal: true

# Measures the cost of the middleware to requests that need no profile. The first figure is the throughput with it / without it, in
# rounds in which all contenders take turns. The second is the server's CPU of a request, which other processes disturb less. Then comes
# the same CPU without a server. There are BENCH_PAIRS rounds of BENCH_SECONDS (whole ones) each, and three times as many turns without
# a server. There are no such turns where BENCH_ROWS, a pattern, picks some of the contenders.
require "fileutils"
require "json"
require "net/http"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "stats"

module Bench
  # A server with a path for each contender; they take turns under wrk.
  module Rack
    APP = File.join(__dir__, "rack_app.ru")
    CONTENDERS = %w[none none_again idle slower_than slower_than_cpu stackprof]
                 .select { |name| name == "none" || name.match?(/\A(?:#{ENV.fetch("BENCH_ROWS", ".*")})\z/) }.freeze

    module_function

    def run(pairs, seconds)
      box = Dir.mktmpdir("rack")
      port, pid = start(box)
      CONTENDERS.each { |name| wrk(port, name, 1) } unless pairs == 1 # warm; a single round does not give a figure
      report(Array.new(pairs) { CONTENDERS.shuffle.to_h { |name| [name, round(port, pid, name, seconds)] } })
    ensure
      if pid
        Process.kill(:TERM, pid)
        Process.wait(pid)
      end
      FileUtils.remove_entry(box) if box
    end

    def turns(rounds)
      Dir.mktmpdir("rack") do |box|
        IO.popen(env_of(box), [RbConfig.ruby, File.join(__dir__, "rack_turns.rb"), rounds.to_s], &:read).chomp
      end
    end

    def env_of(box)
      { "BOX" => box, "RUBYOPT" => "-W0", "RAILS_ENV" => "production", "RACK_ENV" => "production" }
    end

    def start(box)
      port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
      pid = Process.spawn(env_of(box), "puma", "-q", "-t", "4:4", "-b", "tcp://127.0.0.1:#{port}", APP, chdir: box, %i[out err] => File.join(box, "log"))
      300.times do
        break if Net::HTTP.get_response("127.0.0.1", "/none/orders/1", port).is_a?(Net::HTTPOK)
      rescue SystemCallError
        sleep 0.1
      end
      [port, pid]
    end

    # The requests a second, and those in a second of the server's CPU.
    def round(port, pid, name, seconds)
      before = cpu_ns(pid)
      rate, requests = wrk(port, name, seconds)
      { wall: rate, cpu: requests * 1e9 / (cpu_ns(pid) - before) }
    end

    # The CPU clock of that process, as clock_getcpuclockid(3) has it.
    def cpu_ns(pid)
      Process.clock_gettime(~pid << 3 | 2, :nanosecond)
    end

    # The requests a second, and their number.
    def wrk(port, name, seconds)
      out = IO.popen(["wrk", "-t1", "-c4", "-d#{seconds}s", "http://127.0.0.1:#{port}/#{name}/orders/1"], &:read)
      raise out if out.include?("Non-2xx")

      [Float(out[/Requests\/sec:\s*([\d.]+)/, 1]), Integer(out[/(\d+) requests in/, 1])]
    end

    def report(rounds)
      middle = Stats.median(rounds.map { |round| round["none"][:wall] })
      rows = CONTENDERS.drop(1).map do |name|
        ratios = %i[wall cpu].map { |of| Stats.figure(rounds) { |them| Stats.trimmed_mean(them.map { |round| round[name][of] / round["none"][of] }) }.text(3) }
        "| #{name} | #{ratios.join(" | ")} |"
      end
      ["#{rounds.size} rounds; with none of them #{middle.round} requests a second, #{(1_000.0 / middle).round(2)} ms each", "",
       "| | requests a second, with / without | requests in a second of CPU, with / without |", "| --- | --- | --- |", *rows].join("\n")
    end
  end
end

if $PROGRAM_NAME == __FILE__
  pairs = Integer(ENV.fetch("BENCH_PAIRS", "20"))
  texts = [Bench::Rack.run(pairs, Integer(ENV.fetch("BENCH_SECONDS", "1")))]
  texts << Bench::Rack.turns(pairs * 3) unless ENV["BENCH_ROWS"]
  text = texts.join("\n\n")
  puts text
  out = ENV.fetch("BENCH_OUT", File.expand_path("../tmp/bench", __dir__))
  FileUtils.mkdir_p(out)
  File.write(File.join(out, "rack.md"), text)
end
