# frozen_string_literal: true

# Measures what a ledger of memory with owners takes from a process of several sizes. It stands still for a garbage collection, and for
# lists of pages with the fork. Then a copy of it lives, and pages that the process writes are copied. The last column is the CPU time
# of a row over time (memory: true). Each size is a process of its own, with many objects or with few large ones.

require "json"
require "open3"
require "rbconfig"

ROOT = File.expand_path("..", __dir__)
RUNS = Integer(ENV.fetch("BENCH_RUNS", "9"))
SIZES = ENV.fetch("BENCH_SIZES", "50,500,2000").split(",").map { |size| Integer(size) }

PROGRAM = <<~'RUBY'
  require "json"
  require "profiler"
  runs, megabytes, contents = Integer(ARGV[0]), Integer(ARGV[1]), ARGV[2]
  rss = -> { File.read("/proc/self/statm").split[1].to_i * 4_096 }
  block = contents == "many" ? 150 : 1_000_000
  kept = []
  (contents == "many" ? 10_000 : 1).times { kept << "x" * block } while rss.call < megabytes * 1_000_000
  GC.start
  Profiler.memory(owners: true, force: true) # the first time is not like the others

  # The bytes of pages that this process had to copy, besides those that it had to fetch for other reasons.
  faults = -> { File.read("/proc/self/stat").split[9].to_i * 4_096 }
  ledgers = Array.new(runs) do
    copied = faults.call
    taken = Profiler.memory(owners: true, force: true)
    copied = faults.call - copied
    taken.to_h.fetch(:snapshot).slice(:gc_ns, :fork_ns, :copy_ns).merge(copied: copied)
  end
  rows = Array.new(runs) { JSON.parse(Profiler.const_get(:Native).memory_row)["cpu_ns"] }

  # A thread that writes one byte of a random object each time, and a clock that sees how long it stood still.
  random = Random.new(1)
  writer = Thread.new { loop { 20.times { kept[random.rand(kept.size)].then { |it| it.setbyte(random.rand(it.bytesize), 121) } }; sleep 0.000_1 } }
  written = Array.new(runs) do
    copied = faults.call
    Profiler.memory(owners: true, force: true)
    faults.call - copied
  end
  writer.kill
  puts JSON.generate(rss: rss.call, slots: GC.stat(:heap_live_slots), ledgers: ledgers, rows: rows, written: written)
RUBY

# Returns the smallest and the median figure, in a unit.
def figures(all, unit, digits = 1)
  [all.min, all.sort[all.size / 2]].map { |figure| format("%.#{digits}f", figure / unit) }.join(" / ")
end

def row(megabytes, contents)
  out, status = Open3.capture2({ "RUBYOPT" => nil }, RbConfig.ruby, "-I#{ROOT}/lib", "-e", PROGRAM, RUNS.to_s, megabytes.to_s, contents)
  abort "bench:memory: a process of #{megabytes} MB failed" unless status.success?

  found = JSON.parse(out, symbolize_names: true)
  ledgers = found[:ledgers]
  of = ->(key) { ledgers.map { |ledger| ledger[key] } }
  pauses = ledgers.map { |ledger| ledger[:gc_ns] + ledger[:fork_ns] }
  cells = [figures(pauses, 1e6), figures(of[:gc_ns], 1e6), figures(of[:fork_ns], 1e6), figures(of[:copy_ns], 1e9, 2), figures(of[:copied], 1e6),
           figures(found[:written], 1e6), figures(found[:rows], 1e6)]
  ["#{found[:rss] / 1_000_000} MB, #{contents == "many" ? format("%.2f M", found[:slots] / 1e6) : "#{found[:slots] / 1_000} k"} objects", *cells]
end

header = ["", "stands still, ms", "GC, ms", "lists and fork, ms", "copy lives, s", "copied, idle, MB", "copied, writing, MB", "CPU of a row, ms"]
puts RUBY_DESCRIPTION, "", "Each cell has the smallest figure of #{RUNS} runs and the median.", "", "| #{header.join(" | ")} |", "|#{"---|" * header.size}"
SIZES.product(%w[many few]).each do |megabytes, contents|
  puts "| #{row(megabytes, contents).join(" | ")} |"
  $stdout.flush
end
