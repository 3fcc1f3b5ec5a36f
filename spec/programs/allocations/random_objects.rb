# frozen_string_literal: true

# A random program that makes objects in many ways, on several threads, with sessions at several distances over it, some
# from the beginning and some for a while. Prints, of each session, what its rows add up to and what the VM counted.
require "json"
require "profiler"

RANDOM = Random.new(Integer(ENV.fetch("SEED")))
EVERY = Integer(ENV.fetch("EVERY", "100"))
Pair = Struct.new(:left, :right)
DOCUMENT = JSON.generate((1..40).map { |number| { "id" => number, "name" => "n#{number}", "tags" => %w[a b c] } })

KINDS = {
  strings: ->(n) { n.times { |number| "text #{number}" } },
  split: ->(n) { (1..n).to_a.join(",").split(",") },
  json: ->(n) { (n / 100).times { JSON.parse(DOCUMENT) } },
  structs: ->(n) { n.times { Pair.new(1, 2) } },
  arrays: ->(n) { n.times { [1, 2, 3, 4, 5] } },
  hashes: ->(n) { (n / 4).times { { a: 1 }.merge(b: 2) } },
  floats: ->(n) { n.times { |number| number * 1e300 * 1e-300 } },
  bignums: ->(n) { (n / 10).times { |number| (2**80) + number } },
  procs: ->(n) { (n / 4).times { proc { n } } },
  evaluated: ->(n) { (n / 200).times { |number| eval("#{number}.then { |x| x.to_s }", binding, __FILE__, __LINE__) } },
  exceptions: ->(n) { (n / 20).times { Integer("x") rescue nil } },
  fibers: ->(n) { (n / 100).times { Fiber.new { "in a fiber" }.resume } },
  classes: ->(n) { (n / 100).times { Class.new { def self.it = "it" }.it } },
  enumerators: ->(n) { (n / 100).times { [1, 2].each.next } },
  huge: ->(n) { (n / 500).times { "x" * 100_000 } },
  collected: ->(_n) { GC.start }
}.freeze

def work(random)
  random.rand(3..12).times { KINDS.values.sample(random: random).call(random.rand(100..6_000)) }
end

def row(profile)
  stats = profile.stats
  rows = profile.samples
  { every: stats[:every], sum: rows.sum(&:alloc_objects), objects: stats[:objects], vm: stats[:vm_objects], samples: stats[:samples],
    bytes: rows.sum(&:alloc_bytes), unclassed: rows.count { |row| row.alloc_bytes.positive? && row.labels["class"].to_s.empty? } }
end

rows = []
whole = Profiler.start(mode: :allocations, every: EVERY)
threads = Array.new(RANDOM.rand(0..3)) { |number| Random.new(RANDOM.rand(1 << 30) + number) }.map { |random| Thread.new { work(random) } }
2.times do
  inner = Profiler.start(mode: :allocations, every: [1, 7, 100, 1_000].sample(random: RANDOM))
  work(RANDOM)
  rows << row(inner.snapshot) if RANDOM.rand < 0.5
  rows << row(inner.stop)
  work(RANDOM)
end
threads.each(&:join)
rows << row(whole.stop)
puts JSON.generate(rows)
