# frozen_string_literal: true

# Windows for an engine that fails in every way, while an app serves and forks, the disk is full at times, and names do not resolve at
# times: rake check:uploads. Prints what came of them, and fails where a window is neither delivered nor counted as lost, or the app
# noticed anything. SEED repeats the faults, WINDOWS is their number.
require "json"
require "tmpdir"
require_relative "../../support/child"
require_relative "../../support/preloaded"
require_relative "../../support/pyroscope_server"

WINDOWS = Integer(ENV.fetch("WINDOWS", "1000"))
SEED = Integer(ENV.fetch("SEED", rand(1_000_000).to_s))

# The files whose existence takes the names and the disk away: see no_names.c and slow_disk.c.
GONE = %w[NO_NAMES SLOW_DISK_WHILE].freeze

# Takes either away, or undoes that.
def change(random)
  return unless random.rand(10).zero?

  file = ENV.fetch(GONE[random.rand(2)])
  File.exist?(file) ? File.delete(file) : File.write(file, "")
end

# The app: it prints its account.
def app(url, out)
  require "profiler"
  random = Random.new(SEED)
  Profiler.const_get(:Sinks)::Sender.send(:remove_const, :FIRST_PAUSE)
  Profiler.const_get(:Sinks)::Sender.const_set(:FIRST_PAUSE, 0.02)
  Profiler.const_get(:Sinks)::Sender.send(:remove_const, :LONGEST_PAUSE)
  Profiler.const_get(:Sinks)::Sender.const_set(:LONGEST_PAUSE, 0.5)
  Profiler::Pyroscope.send(:remove_const, :JITTER)
  Profiler::Pyroscope.const_set(:JITTER, 0)
  taken = []
  engine = Profiler::Pyroscope.new(url, service: "shop", timeout: 0.5)
  session = Profiler.continuous(to: [engine, ->(_) { taken << 1 }], out: out, keep: 10 * WINDOWS, period: 3_600, mode: :cpu, frequency: 1_000)
  requests, errors = [], []
  stop = false
  serving = 2.times.map do
    Thread.new do
      until stop
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        Profiler.label(endpoint: "page #{rand(10_000)}") { 300.times(&:to_s) }
        requests << (Process.clock_gettime(Process::CLOCK_MONOTONIC) - began)
        sleep 0.002
      end
    rescue Exception => e # rubocop:disable Lint/RescueException -- whatever the app notices
      errors << e.inspect
    end
  end
  children = []
  most = 0
  WINDOWS.times do |number|
    sleep 0.08
    change(random)
    session.instance_variable_get(:@periods).flush
    most = [most, engine.counts[:waiting]].max
    next unless (number % 100) == 50

    children << fork do
      300_000.times(&:to_s)
      exit # sends its last window
    end
  end
  GONE.map { |path| ENV.fetch(path) }.each { |entry| File.delete(entry) if File.exist?(entry) }
  stop = true
  serving.each(&:join)
  stopped = session.stop
  children.each { |pid| Process.wait(pid) }
  puts JSON.generate(pid: Process.pid, taken: taken.size, most: most, stopped: stopped, errors: errors, counts: engine.counts,
                     disk: session.sinks.last.counts, p99: requests.sort[requests.size * 99 / 100], requests: requests.size,
                     rss: File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i / 1024)
end

# The engine, and the sums.
def check
  random = Random.new(SEED)
  faults = [503, 429, [429, { "Retry-After" => "0.05" }], 500, 413, 400, :cut_request, :cut_reply, [:slow, 0.2], [:slow, 0.8], :hang, [:refuse, 0.3], 301, 408, 502]
  account, profiles, files = PyroscopeServer.open(rate: nil) do |server|
    server.always = ->(_request) { faults[random.rand(faults.size)] if random.rand(4).zero? }
    Dir.mktmpdir do |box|
      env = { "WINDOWS" => WINDOWS.to_s, "SEED" => SEED.to_s, "SLOW_DISK" => "full", **Preloaded.env("no_names", "slow_disk"),
              **GONE.to_h { |path| [path, File.join(box, path)] } }
      files = File.join(box, "profiles")
      out = IO.popen([env, RbConfig.ruby, "-Ilib", __FILE__, "http://localhost:#{server.port}", files], &:read)
      [JSON.parse(out, symbolize_names: true), server.profiles, Dir.children(files)]
    end
  end
  pid = account.fetch(:pid)
  counts = account.fetch(:counts)
  puts "seed #{SEED}: #{account}", "#{profiles.size} profiles arrived, #{profiles.map(&:id).uniq.size} of them different"
  wrong = []
  wrong << "the app noticed: #{account[:errors]}" unless account[:errors].empty?
  wrong << "#{account[:taken]} windows, but #{counts}" unless account[:taken] == counts.values_at(:delivered, :lost, :waiting).sum
  wrong << "#{account[:most]} windows waited" if account[:most] > 32
  wrong << "fewer arrived than were delivered" if profiles.map(&:id).uniq.size < counts[:delivered]
  wrong << "#{account[:taken]} windows, but on the disk #{account[:disk]}" unless account[:taken] == account[:disk].values_at(:delivered, :lost).sum
  wrong << "other files: #{files.grep_v(/\A[\dT.]+-\d+-\h+\.pb\.gz\z/)}" unless files.all?(/\A[\dT.]+-\d+-\h+\.pb\.gz\z/)
  wrong << "not the files that were delivered" unless files.count { |file| file.include?("-#{pid}-") } == account[:disk][:delivered]
  abort wrong.join("\n") unless wrong.empty?
end

ARGV[0] ? app(*ARGV) : check
