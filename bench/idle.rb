# frozen_string_literal: true

# Measures what a process that has nothing to do costs: context switches of all its threads and CPU time, per minute, without
# the profiler and under `profiler record` in each mode. The processes of one program run side by side, for BENCH_SECONDS.
#
#   sleep, Queue#pop   a Ruby that waits
#   Puma               a server with five threads, without requests
#   Sidekiq            with a Redis that has no jobs
require "fileutils"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "extension"
require_relative "report"

module Bench
  module Idle
    SECONDS = Float(ENV.fetch("BENCH_SECONDS", 60))
    STARTING = [SECONDS / 2, 8].min # seconds until a program has begun to wait, on a quiet machine
    STARTING_MS = 20 # the CPU time in 2 seconds from which on a program is still starting
    MAX_STARTING = 60
    EXE = File.join(ROOT, "exe", "profiler")
    # The options of `profiler record` that the processes are measured with.
    WAYS = { "without" => nil, **%w[cpu wall cpu,wall].product([1, 10]).to_h { |mode, ms| ["#{mode}, #{ms} ms", ["--mode", mode, "--interval", (ms * 1_000).to_s]] },
             "allocations" => %w[--mode allocations] }.freeze
    # The VM does not say who waits before Ruby 3.3: there `wall` looks.
    PROGRAMS = %w[sleep pop puma sidekiq].select { |name| name.match?(ENV.fetch("BENCH_ROWS", "")) }.freeze

    # The use that a process has made of the machine so far. Threads that have ended are in none of these.
    Usage = Struct.new(:voluntary, :involuntary, :cpu_ms)

    module_function

    def run
      report = Report.new("idle", "What an idle process does", clock: "/proc of the process, all threads")
      report.text("Voluntary context switches / involuntary ones, and ms of CPU time: per 60 s, of #{SECONDS.round(1)} s that were measured.")
      rows = PROGRAMS.to_h { |name| [name, available?(name) ? measured(name) : nil] }
      report.table(["", *rows.keys], WAYS.keys.map { |way| [way, *rows.values.map { |row| row ? cell(row[way]) : "0 (not here)" }] })
      report.publish
    end

    def cell(usage)
      return "0 (ended)" unless usage

      format("%d / %d, %.1f ms", *usage.to_a.map { |number| number * 60 / SECONDS })
    end

    def available?(name)
      { "puma" => %w[puma], "sidekiq" => %w[sidekiq redis-server] }.fetch(name, []).all? do |command|
        system("command -v #{command} > /dev/null 2>&1") && (command == "redis-server" || system(RbConfig.ruby, "-S", command, "--version", %i[out err] => File::NULL))
      end
    end

    # The usage of a program by way, nil where it has ended.
    def measured(name)
      Dir.mktmpdir("idle") do |box|
        services = name == "sidekiq" ? [redis(box)] : []
        started = WAYS.to_h { |way, options| [way, start(name, options, box)] }
        services.concat(started.values)
        targets = started_up(started)
        before = targets.transform_values { |pid| usage(pid) }
        sleep SECONDS
        targets.to_h { |way, pid| [way, between(before[way], usage(pid))] }
      ensure
        services&.reverse_each { |pid| stop(pid) }
      end
    end

    # The programs themselves, once all of them wait, or it took too long.
    def started_up(started)
      sleep STARTING
      targets = started.transform_values { |pid| target(pid) }
      (MAX_STARTING / 2).times do
        before = targets.values.map { |pid| usage(pid)&.cpu_ms }
        sleep 2
        break if targets.values.zip(before).all? { |pid, ms| ms.nil? || (usage(pid)&.cpu_ms || ms) - ms < STARTING_MS }
      end
      targets
    end

    def between(before, after)
      Usage.new(*after.to_a.zip(before.to_a).map { |now, then_| now - then_ }) if before && after
    end

    def start(name, options, box)
      record = options ? [RbConfig.ruby, EXE, "record", "--quiet", *options, "--out", File.join(box, "#{options.join}.pb.gz"), "--"] : []
      Process.spawn(environment(box), *record, *command(name, box), chdir: box, pgroup: true, %i[out err] => File::NULL)
    end

    def environment(box)
      { "RUBYOPT" => nil, "RACK_ENV" => "production", "REDIS_URL" => "unix://#{File.join(box, "redis")}" }
    end

    def command(name, box)
      case name
      when "sleep" then [RbConfig.ruby, "-e", "sleep"]
      when "pop" then [RbConfig.ruby, "-e", "Thread.new { Queue.new.pop }; sleep"]
      when "puma"
        app = File.join(box, "app.ru")
        File.write(app, "run ->(_env) { [200, {}, []] }\n")
        [RbConfig.ruby, "-S", "puma", "-q", "-t", "5:5", "-b", "tcp://127.0.0.1:#{free_port}", app]
      when "sidekiq"
        jobs = File.join(box, "jobs.rb")
        File.write(jobs, "Sidekiq.configure_server { |config| config.redis = { url: ENV.fetch('REDIS_URL') } }\n")
        [RbConfig.ruby, "-S", "sidekiq", "-c", "5", "-r", jobs]
      end
    end

    def free_port
      TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    end

    def redis(box)
      Process.spawn("redis-server", "--port", "0", "--unixsocket", File.join(box, "redis"), "--save", "", "--dir", box, %i[out err] => File::NULL, pgroup: true)
    end

    # The program itself: `profiler record` stays beside it as its parent.
    def target(pid)
      child = File.read("/proc/#{pid}/task/#{pid}/children").split.first
      child ? Integer(child) : pid
    rescue SystemCallError
      pid
    end

    def usage(pid)
      switches = Dir.glob("/proc/#{pid}/task/*/status").map { |file| File.read(file).scan(/ctxt_switches:\s*(\d+)/).flatten.map { |number| Integer(number) } }
      return if switches.empty?

      Usage.new(*switches.transpose.map(&:sum), cpu_ns(pid) / 1e6)
    rescue SystemCallError
      nil
    end

    # The CPU clock of that process, as clock_getcpuclockid(3) has it.
    def cpu_ns(pid)
      Process.clock_gettime((~pid << 3) | 2, :nanosecond)
    end

    def stop(pid)
      Process.kill(:TERM, -pid)
      200.times { Process.wait(pid, Process::WNOHANG) ? return : sleep(0.05) }
      Process.kill(:KILL, -pid)
      Process.wait(pid)
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    end
  end
end

Bench::Idle.run if $PROGRAM_NAME == __FILE__
