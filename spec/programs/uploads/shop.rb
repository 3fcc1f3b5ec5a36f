# frozen_string_literal: true

# A shop whose profiles are encoded as each backend gets them. Saves them into the directory ARGV[0], with the sums that they must
# have in truth.json. ARGV[1] and ARGV[2] are JSON: the types of each family, and the families of each profile.
require "profiler"
require "json"
TYPES, RECORDED = JSON.parse(ARGV[1]), JSON.parse(ARGV[2])
KEPT = []
class Shop
  def sort = Array.new(3_000) { |it| it.to_s }.sort_by { |it| it.reverse }
  def keep = 200.times { |it| KEPT << "kept #{it}" }
  def nap = sleep(0.01)
  def deep(n) = n.zero? ? sort : deep(n - 1)
end
def serve
  { "cart#show" => "/cart/:id", "search\n#index" => "/search" }.each do |endpoint, route|
    Profiler.label(endpoint: endpoint, "http.route": route, user: rand.to_s) { 5.times { Shop.new.sort; Shop.new.keep; Shop.new.deep(1_500) } }
  end
  2.times.map { |it| Thread.new { Profiler.label(job: "Job#{it}") { Shop.new.nap; 5.times { Shop.new.sort } } } }.each(&:join)
  GC.start
end
options = { labels: { "service_name" => "shop", "service.version" => "1.2" }, resource: { "service.name" => "shop" },
            dimensions: %w[endpoint job http.route], id: "\xab" * 16 }
modes = { "timed" => %i[cpu wall allocations], "live" => %i[heap] }
truth = RECORDED.to_h do |name, families|
  profile = Profiler.run(mode: modes.fetch(name), every: 10) { serve }
  save = ->(file, bytes) { File.binwrite("#{ARGV[0]}/#{name}.#{file}", bytes) }
  families.each { |family| save["#{family}.pb.gz", profile.__send__(:_upload, "pprof", { **options, family: family })] }
  save["push", profile.__send__(:_upload, "pyroscope", options)]
  save["export", profile.__send__(:_upload, "otlp", options)]
  save["export.gz", profile.__send__(:_upload, "otlp", { **options, gzip: true })]
  save["cpu.export", profile.__send__(:_upload, "otlp", { **options, family: "cpu" }).to_s]
  sums = families.flat_map { |family| TYPES.fetch(family).to_a }.to_h do |type, reader|
    of = reader.to_sym
    by = options[:dimensions].to_h do |label|
      [label, profile.samples.group_by { |it| it.labels[label] }.transform_values { |all| all.sum(&of) }.reject { |value, sum| value.nil? || sum.zero? }]
    end
    sort = profile.samples.select { |it| it.frames.any? { |frame| frame.name == "Shop#sort" } }.sum(&of)
    [type, { total: profile.totals.fetch(type), by: by, sort: sort }]
  end
  [name, sums.merge(begin: profile.meta[:started_at_ns], duration: profile.stats[:duration_ns], version: profile.meta[:profiler_version])]
end
File.write("#{ARGV[0]}/truth.json", JSON.generate(truth))
