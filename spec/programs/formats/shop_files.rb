# frozen_string_literal: true

# A shop with names that no format may break at. Saves its profile in each format of another tool into the directory ARGV[0], with
# the sums that a reader of these files must find in truth.json.
require "profiler"
require "json"
class Shop
  def sort = Array.new(3_000) { |it| it.to_s }.sort_by { |it| it.reverse }
  def nap = sleep(0.02)
  def deep(n) = n.zero? ? sort : deep(n - 1)
  def self.serve = 20.times { new.sort; new.deep(4) }
end
Object.define_method("odd;name </script>\n&|`\u202e 12") { Shop.serve }
Object.define_method("12") { Shop.serve }
profile = Profiler.run(mode: %i[cpu wall], timeline: true) do
  Profiler.marker("imp<ort>;") { Shop.serve; Shop.new.nap; 5.times { GC.start } }
  send("odd;name </script>\n&|`\u202e 12")
  send("12")
  2.times.map { Thread.new { Thread.current.name = "w;<b>"; Shop.serve; Shop.new.nap } }.each(&:join)
end
extensions = %w[pb.gz folded svg speedscope.json firefox.json firefox.json.gz cpuprofile callgrind stackprof.json md json]
extensions.each { |it| profile.save("#{ARGV[0]}/it.#{it}") }
profile.save("#{ARGV[0]}/cpu.stackprof.json", type: :cpu)
%i[flame reverse flamechart].each { |it| profile.save("#{ARGV[0]}/#{it}.svg", style: it) }
clean = ->(name) { Profiler.const_get(:Native).clean(name) }
rows = %i[cpu wall].to_h { |of| [of, profile.top(limit: 0, type: of).group_by { |it| clean[it[:name]] }.transform_values { |all| [all.sum { |it| it[:self] }, all.sum { |it| it[:total] }] }] }
threads = profile.samples.group_by(&:thread_id).transform_values { |all| all.sum(&:wall) }
heaviest = threads.max_by(&:last).first
# From Ruby 3.3 on there are rows with only blame, which no picture of wall clock time has.
of_main = profile.samples.select { |it| it.thread_id == heaviest && it.wall.positive? }
main = of_main.flat_map { |it| it.frames.map(&:name).uniq.map { |name| [name, it.wall] } }.each_with_object(Hash.new(0)) { |(name, wall), sums| sums[clean[name]] += wall }
lines = profile.lines(type: :cpu).flat_map { |path, all| all.map { |line, it| ["#{path}:#{line}", it[:self]] } }.to_h
gc = profile.timeline.select { |it| it.state == :gc }.size
File.write("#{ARGV[0]}/truth.json", JSON.generate(totals: profile.totals, rows: rows, threads: threads.values, main: main, lines: lines, gc: gc))
