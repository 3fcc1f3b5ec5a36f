# frozen_string_literal: true

# Measures the time and the peak memory of reading, reporting and converting a file with a million timeline events. It also compares a
# report on a small file with Ruby's own start. Each is a process of its own, from its start to its end.

require "tmpdir"
require "rbconfig"

ROOT = File.expand_path("..", __dir__)
RUNS = Integer(ENV.fetch("BENCH_RUNS", "3"))
EVENTS = ENV.fetch("BENCH_EVENTS", "1000000")
PEAK = 'at_exit { warn File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1] };'

def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# @return [Array(Float, Integer)] the median of seconds, and the most of KiB
def measured(code, *arguments)
  runs = Array.new(RUNS) do
    read, write = IO.pipe
    began = clock
    system(RbConfig.ruby, "-I#{ROOT}/lib", "-e", PEAK + code, *arguments, out: File::NULL, err: write) || abort("failed: #{arguments.join(" ")}")
    took = clock - began
    write.close
    [took, read.read[/\d+/].to_i]
  end
  [runs.map(&:first).sort[RUNS / 2], runs.map(&:last).max]
end

CLI = 'require "profiler/cli"; exit Profiler::CLI.run(ARGV);'

Dir.mktmpdir("files") do |directory|
  big = File.join(directory, "big.pb.gz")
  small = File.join(directory, "small.pb.gz")
  make = %w[cargo run --quiet --release --locked --package profiler_core --example big_file --]
  system(*make, big, EVENTS, chdir: ROOT) && system(*make, small, "10000", chdir: ROOT) || abort("bench:files: cannot make the files")

  bare, bare_peak = measured("")
  puts "| what | seconds | over Ruby's start | MiB at most |"
  puts "|---|--:|--:|--:|"
  row = ->(name, (seconds, peak)) { puts format("| %s | %.2f | %.2f | %d |", name, seconds, seconds - bare, peak / 1024) }
  row["ruby -e ''", [bare, bare_peak]]
  row["load, #{File.size(big) / 1_000} kB", measured('require "profiler"; Profiler::Profile.load(ARGV[0])', big)]
  row["report", measured(CLI, "report", big)]
  row["tree", measured(CLI, "tree", big)]
  %w[pb.gz svg folded speedscope.json firefox.json firefox.json.gz cpuprofile callgrind stackprof.json md json].each do |extension|
    row["convert to .#{extension}", measured(CLI, "convert", big, File.join(directory, "out.#{extension}"))]
  end
  row["convert to .svg --style flamechart", measured(CLI, "convert", big, File.join(directory, "out.svg"), "--style", "flamechart")]
  row["report, #{File.size(small) / 1_000} kB", measured(CLI, "report", small)]
end
