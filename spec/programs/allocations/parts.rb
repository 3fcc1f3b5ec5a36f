# frozen_string_literal: true

# Counts the objects of three methods exactly, then samples them 20 times. Prints how far the worst share was off, in standard
# deviations.
require_relative "../helpers"

DOCUMENT = JSON.generate((1..200).map { |it| { "id" => "i#{it}", "tags" => %w[a b c] } })
LINE = (1..2_000).to_a.join(",")
def split = LINE.split(",")
def parse = JSON.parse(DOCUMENT)
def ruby = 1_500.times { Object.new }
def round = (split; parse; ruby)
PARTS = %w[Object#split Object#parse Object#ruby]

def shares(every)
  profile = Profiler.run(mode: :allocations, every: every) { 60.times { round } }
  sums = Hash.new(0)
  profile.samples.each do |sample|
    part = sample.frames.reverse.map(&:name).find { |name| PARTS.include?(name) }
    sums[part] += sample.alloc_objects if part
  end
  [sums.transform_values { |it| it.fdiv(sums.values.sum) }, sums.values.sum]
end

round
truth, objects = shares(1)
worst = Array.new(20) do
  found = shares(500).first
  truth.map { |part, share| (share - found.fetch(part, 0)).abs / Math.sqrt(share * (1 - share) / (objects / 500.0)) }.max
end
print_json(worst.max)
