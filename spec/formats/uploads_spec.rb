# frozen_string_literal: true

require "tmpdir"
require "zlib"
require_relative "../support/tools"

# Law 6 for what profiling engines are sent: decoders of others find the profile's sums, in all and of each value of a label.
RSpec.describe "A profile for profiling engines" do
  include Tools
  include_context "with a program"

  types = {
    "cpu" => { "cpu" => :cpu },
    "wall" => { "wall" => :wall, "gvl_wait" => :gvl_wait, "gc" => :gc, "gvl_blame" => :gvl_blame },
    "allocations" => { "alloc_objects" => :alloc_objects, "alloc_space" => :alloc_bytes },
    "heap" => { "inuse_objects" => :inuse_objects, "inuse_space" => :inuse_bytes }
  }
  recorded = { "timed" => %w[cpu wall allocations], "live" => %w[allocations heap] }
  periods = { "cpu" => %w[cpu nanoseconds], "wall" => %w[wall nanoseconds], "allocations" => %w[space bytes], "heap" => %w[space bytes] }
  metrics = { "cpu" => "process_cpu", "wall" => "wall", "allocations" => "memory", "heap" => "memory" }

  before(:context) do
    @directory = Dir.mktmpdir("uploads")
    result = ruby_child(File.expand_path("../programs/uploads/shop.rb", __dir__), @directory, JSON.generate(types), JSON.generate(recorded))
    raise result.err unless result.status.success?

    @truth = JSON.parse(File.read(path("truth.json")))
  end

  after(:context) { FileUtils.remove_entry(@directory) }

  attr_reader :truth

  def path(name) = File.join(@directory, name)

  # @return [Array(String, Hash)] what `go tool pprof -raw` prints before the samples; and of each type: total, sums by label, sum of a method
  def raw(file)
    need "go"
    result = command_child("go", "tool", "pprof", "-raw", file, env: { "PPROF_TMPDIR" => @directory }, timeout: 400)
    expect(result.status).to be_success, result.err
    head, body = result.out.split("Samples:\n", 2)
    samples, locations = body.split("Locations\n", 2)
    sort = locations.scan(/^ +(\d+): .* Shop#sort /).flatten
    # Values and locations, then labels, in which can be any character.
    names, *samples = samples.split(/^(?= *\d+(?: +\d+)*: [\d ]*$)/)
    samples = samples.map do |sample|
      values, stack, labels = sample.match(/\A([\d ]+): ([\d ]*)\n(.*)\z/m).captures
      [values.split.map(&:to_i), stack.split, labels.strip.scan(/(\w+):\[(.*?)\](?= \w+:\[|\z)/m)]
    end
    expect(samples.map { |_, stack, _| stack.size }.max).to be <= 1_000
    sums = names.scan(%r{(\w+)/\w+}).flatten.each_with_index.to_h do |type, place|
      by = Hash.new { |all, label| all[label] = Hash.new(0) }
      samples.each { |values, _, labels| labels.each { |label, value| by[label][value] += values[place] } }
      by.each_value { |sums| sums.reject! { |_, sum| sum.zero? } }
      in_sort = samples.select { |_, stack, _| stack.intersect?(sort) }
      [type, { "total" => samples.sum { |sample| sample[0][place] }, "by" => by.reject { |_, sums| sums.empty? }, "sort" => in_sort.sum { |sort| sort[0][place] } }]
    end
    [head, sums]
  end

  def decoded(*arguments)
    python = need(File.join(Tools::HOME, "python/bin/python3"))
    result = command_child(python, "spec/support/uploads.py", *arguments)
    expect(result.status).to be_success, result.err
    JSON.parse(result.out)
  end

  # The true sums of some sample types, with renamed labels, and without labels that none of their samples has.
  def expected(name, types, rename: {})
    types.to_h do |type|
      true_sums = truth[name].fetch(type)
      [type, { **true_sums, "by" => true_sums["by"].reject { |_, sums| sums.empty? }.transform_keys { |label| rename.fetch(label, label) } }]
    end
  end

  with_underscore = { "http.route" => "http_route" }
  static = { "service_name" => ["shop"], "service_version" => ["1.2"] }

  recorded.each do |name, families|
    it "is read by go tool pprof, as a file for each family (#{name})" do
      families.each do |family|
        head, sums = raw(path("#{name}.#{family}.pb.gz"))
        expect(head).to include("PeriodType: #{periods[family].join(" ")}\n").and include("Comment: ruby ")
        expect(head.include?("Duration: ")).to be(family != "heap")
        all = sums.each_value.map { |entry| entry["by"].slice(*static.keys).transform_values(&:keys) }
        expect(all.zip(sums.each_value).reject { |_, entry| entry["total"].zero? }.map(&:first)).to all eq(static)
        sums.each_value { |entry| entry["by"] = entry["by"].except(*static.keys) }
        expect(sums).to eq(expected(name, types[family].keys, rename: with_underscore))
      end
    end

    it "is a push to Pyroscope, with a series for each family (#{name})" do
      series = decoded("push", path("#{name}.push"), @directory)
      expect(series.map { |entry| entry["labels"] }).to eq(families.map do |family|
        [%w[__delta__ false], ["__name__", metrics[family]], %w[service_name shop], %w[service_version 1.2]]
      end)
      expect(series.map { |entry| entry["id"] }.uniq).to all(match(/\A\h{8}-\h{4}-4\h{3}-[89ab]\h{3}-\h{12}\z/)).and have_attributes(size: families.size)
      families.zip(series) { |family, request| expect(raw(request["file"]).last).to eq(expected(name, types[family].keys, rename: with_underscore)) }
    end

    it "is an export to OpenTelemetry, with a profile for each type (#{name})" do
      export = decoded("export", path("#{name}.export"))
      expect(export["resource"]).to eq("service.name" => "shop", "service.version" => "1.2", "service_name" => "shop")
      expect(export["scope"]).to eq ["profiler", truth[name].fetch("version")]
      profiles = export["profiles"].to_h { |entry| [entry["type"].first, entry] }
      expect(profiles.size).to eq export["profiles"].size
      sums = profiles.transform_values { |profile| { "total" => profile["total"], "by" => profile["by"], "sort" => profile["functions"].fetch("Shop#sort", 0) } }
      expect(sums).to eq(expected(name, families.flat_map { |family| types[family].keys }).reject { |_, expected| expected["total"].zero? })
      families.each { |family| profiles.values_at(*types[family].keys).compact.each { |value| expect(value["period_type"]).to eq periods[family] } }
      profiles.each do |type, profile|
        start, length = truth[name].values_at("begin", "duration")
        expect(profile.values_at("time", "duration")).to eq(type.start_with?("inuse") ? [start + length, 0] : [start, length])
      end
      expect(export["profiles"].map { |entry| entry["id"] }.uniq).to all(match(/\A\h{32}\z/)).and have_attributes(size: profiles.size)
    end
  end

  it "can be compressed as a whole, or have one family" do
    expect(Zlib.gunzip(File.binread(path("timed.export.gz")))).to eq File.binread(path("timed.export"))
    expect(decoded("export", path("timed.cpu.export"))["profiles"].map { |entry| entry["type"] }).to eq [%w[cpu nanoseconds]]
    expect(File.size(path("live.cpu.export"))).to eq 0
  end

  it "is refused what cannot be sent" do
    messages = run_json(<<~RUBY)
      profile = Profiler.run { burn }
      upload = ->(kind, **options) { error { profile.__send__(:_upload, kind, options) } }
      id = "0" * 16
      print_json([upload["jfr"], upload["pprof"], upload["pprof", family: :mutex], upload["otlp", id: "short"], upload["pyroscope"],
                  upload["otlp", id: id, labels: { host: 5 }], upload["pprof", family: :heap], upload["pprof", family: :cpu, values: nil]])
    RUBY
    expect(messages).to match([
      'ArgumentError: unknown kind "jfr" (allowed: pprof, pyroscope, otlp)',
      "ArgumentError: pprof has one family: pass family:",
      "ArgumentError: family: :mutex is not a family (allowed: cpu, wall, allocations, heap)",
      *["ArgumentError: id: is not a String of 16 bytes"] * 2,
      "ArgumentError: labels: 5 is not a String or a Symbol",
      "none", "none"
    ])
  end
end
