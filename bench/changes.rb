# frozen_string_literal: true

# Measures how often `profiler diff` is right. Of the same program it must find nothing in 19 of 20 comparisons. Of a program in which a
# method with a fifth of the time takes a tenth longer, it must name that method first. There are BENCH_ROUNDS (20) comparisons, with
# BENCH_RUNS (3) runs per side of the same program and BENCH_RUNS_SLOWER (5) of the slower one. Each run has BENCH_SECONDS (3) of CPU at
# BENCH_INTERVAL (100) microseconds.

require "rbconfig"
require "tmpdir"

ROOT = File.expand_path("..", __dir__)
$LOAD_PATH.unshift("#{ROOT}/lib")
require "profiler"

ROUNDS = Integer(ENV.fetch("BENCH_ROUNDS", "20"))
RUNS = Integer(ENV.fetch("BENCH_RUNS", "3"))
# More runs: the samples show a tenth at once, but from run to run the method's own share varies by a fortieth.
RUNS_SLOWER = Integer(ENV.fetch("BENCH_RUNS_SLOWER", "5"))
SECONDS = ENV.fetch("BENCH_SECONDS", "3")
INTERVAL = ENV.fetch("BENCH_INTERVAL", "100")

def record(directory, slower)
  out = File.join(directory, "run.pb.gz")
  system(RbConfig.ruby, "-I#{ROOT}/lib", "#{ROOT}/spec/programs/diff/slower.rb", slower, SECONDS, out, INTERVAL) || abort("slower.rb failed")
  Profiler::Profile.load(out)
end

# The share of each run that the method took.
def shares(runs)
  runs.map { |run| (run.top(limit: 0).find { |row| row[:name] == "Shop#slow" }[:self].to_f / run.totals["cpu"]).round(4) }
end

found = { "the same, by shares" => 0, "the same, absolute" => 0, "a tenth slower, by shares" => 0 }
samples = Hash.new { |hash, runs| hash[runs] = [] }
Dir.mktmpdir do |directory|
  ROUNDS.times do
    # In turn, so that disturbances of the machine fall on all.
    runs = Array.new([RUNS, RUNS_SLOWER].max) { %w[1.0 1.0 1.1].map { |slower| record(directory, slower) } }
    old, same, = runs.first(RUNS).transpose
    samples[RUNS] << old.sum { |profile| profile.stats[:samples] }
    found["the same, by shares"] += 1 if Profiler::Profile.diff(old, same)[:changes].none? { |change| change[:significant] }
    found["the same, absolute"] += 1 if Profiler::Profile.diff(old, same, absolute: true)[:changes].none? { |change| change[:significant] }
    old, _, slow = runs.first(RUNS_SLOWER).transpose
    samples[RUNS_SLOWER] << old.sum { |profile| profile.stats[:samples] }
    first = Profiler::Profile.diff(old, slow)[:changes].first
    if first[:significant] && first[:name] == "Shop#slow" && first[:after] > first[:before]
      found["a tenth slower, by shares"] += 1
    else
      warn "missed: first is #{first.slice(:name, :before, :after, :chance)}; the method's shares were #{[old, slow].map { |side| shares(side) }.join(" and ")}"
    end
  end
end
puts "| compared | runs per side | samples per side | right, of #{ROUNDS} |", "|---|--:|--:|--:|"
found.zip([RUNS, RUNS, RUNS_SLOWER]).each { |(name, number), runs| puts "| #{name} | #{runs} | #{samples[runs].minmax.join(" to ")} | #{number} |" }
