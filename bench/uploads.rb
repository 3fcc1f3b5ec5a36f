# frozen_string_literal: true

# Measures the bytes of a window for each engine, and the CPU that encoding and sending it takes, of all threads. The window is the
# fullest one of ten seconds of RDoc at 100 samples a second, in which all objects are counted; BENCH_RUNS is how often it is encoded and
# sent. The receiver is a process of its own, which answers 200. A real OpenTelemetry Collector is measured too, by its own CPU clock,
# where the tests have one. BENCH_WINDOWS is a directory of others' windows: the fullest one of each folder in it is taken.
$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "json"
require "profiler"
require "rdoc"
require "socket"
require "tmpdir"
require_relative "../spec/support/child"
require_relative "../spec/support/tools"

module Bench
  # A window of a real program, and what it takes until an engine has it.
  module Uploads
    RUNS = Integer(ENV.fetch("BENCH_RUNS", "50"))
    SECONDS = Float(ENV.fetch("BENCH_SECONDS", "10"))
    MODES = { "cpu" => %i[cpu], "cpu, allocations" => %i[cpu allocations] }.freeze

    module_function

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def cpu_ms = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :float_millisecond)

    # The ms of CPU of the block, of the median run.
    def median_ms(before = nil)
      Array.new(RUNS) { before = cpu_ms; yield; cpu_ms - before }.sort[RUNS / 2]
    end

    # @return [Profiler::Profile]
    def window(mode)
      windows = []
      session = Profiler.continuous(period: SECONDS, mode: mode, max_overhead: nil) { |profile| windows << profile }
      files = Dir[File.join(RbConfig::CONFIG["rubylibdir"], "{net,uri,json,optparse,rdoc}", "**/*.rb")]
      till = now + (2 * SECONDS)
      Dir.mktmpdir do |directory|
        files.each_slice(20).cycle do |some|
          break if now > till

          RDoc::RDoc.new.document(["-q", "-o", File.join(directory, now.to_s), *some])
        end
      end
      session.stop
      windows.max_by { |window| window.stats[:samples] }
    end

    # @return [Hash{String => Profiler::Profile}] by the names of their folders
    def windows
      return MODES.transform_values { |mode| window(mode) } unless ENV["BENCH_WINDOWS"]

      Dir[File.join(ENV["BENCH_WINDOWS"], "*/")].sort.to_h do |folder|
        [File.basename(folder), Dir[File.join(folder, "*.pb.gz")].map { |file| Profiler::Profile.load(file) }.max_by { |path| path.stats[:samples] }]
      end
    end

    # Yields the URL of a process that reads requests and answers 200.
    def receiving
      server = TCPServer.new("127.0.0.1", 0)
      pid = fork { loop { answer(server.accept) } }
      yield "http://127.0.0.1:#{server.addr[1]}"
    ensure
      Process.kill(:KILL, pid)
      Process.wait(pid)
      server.close
    end

    def answer(socket)
      head = +""
      head << socket.gets until head.end_with?("\r\n\r\n")
      socket.read(head[/content-length: (\d+)/i, 1].to_i)
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      socket.close
    end

    def row(name, window, engine)
      body = engine.__send__(:encode, window)
      encode = median_ms { engine.__send__(:encode, window) }
      send = median_ms { post(engine, body) }
      stats = window.stats
      format("| %s, %s | %d | %d | %.1f | %.1f | %.1f | %.3f |", engine.name, name, stats[:samples], window.samples.size, body.bytesize / 1_000.0, encode, send,
             (encode + send) / 10 / SECONDS)
    end

    def post(engine, body)
      endpoint = engine.instance_variable_get(:@endpoint)
      reply = endpoint.post(body, engine.class::TYPE)
      raise reply.to_s unless reply.delivered?
    end

    # The ms of CPU that a Collector takes for a window that it writes to a file.
    def collector_ms(window)
      require_relative "../spec/support/collector"
      Dir.mktmpdir do |directory|
        Collector.open(directory, Tools::COLLECTOR) do |collector|
          engine = Profiler::Otlp.new(collector.url, service: "bench")
          body = engine.__send__(:encode, window)
          pid = collector.instance_variable_get(:@pid)
          before = of_process_ms(pid)
          (RUNS * 20).times { post(engine, body) }
          (of_process_ms(pid) - before) / (RUNS * 20)
        end
      end
    end

    # The CPU clock of a process, as clock_getcpuclockid(3) has it.
    def of_process_ms(pid) = Process.clock_gettime((~pid << 3) | 2, :float_millisecond)

    def run
      windows = self.windows
      puts "| engine, mode | samples | rows | kB | encode, ms of CPU | send, ms of CPU | both, % of a core |", "|---|--:|--:|--:|--:|--:|--:|"
      receiving do |url|
        windows.each do |name, window|
          [Profiler::Pyroscope, Profiler::Otlp].each { |backend| puts row(name, window, backend.new(url, service: "bench")) }
        end
      end
      return unless File.executable?(Tools::COLLECTOR)

      puts ""
      windows.each { |name, window| puts format("A Collector took %.1f ms of CPU for a window in `%s`, which it wrote to a file and to its log.", collector_ms(window), name) }
    end
  end
end

Bench::Uploads.run
