# frozen_string_literal: true

require_relative "../support/collector"
require_relative "../support/http_server"

RSpec.describe "Windows as OpenTelemetry profiles" do
  include Tools
  include_context "with a program"
  include_context "with a box"

  def total(profiles, type) = profiles.select { |profile| profile.sample_type.first == type }.sum { |profile| profile.samples.sum(&:value) }

  it "reach a Collector as a block gets them, type by type and label by label" do
    Collector.open(in_box("collector"), need_collector) do |collector|
      result = run_json(<<~RUBY)
        seen = []
        engine = Profiler::Otlp.new("#{collector.url}", service: "shop", labels: { "deployment.environment.name" => "test" })
        session = Profiler.continuous(to: [engine, ->(profile) { seen << profile }], period: 0.3, mode: %i[cpu allocations])
        6.times { |number| Profiler.label(endpoint: number.even? ? "cart#show" : "cart#add", user: number.to_s) { burn } }
        stopped = session.stop
        sums = %i[cpu alloc_objects alloc_space].to_h { |type| [type, seen.sum { |profile| profile.totals.fetch(type.to_s, 0) }] }
        of_cart = seen.sum { |profile| profile.samples.select { |row| row.labels["endpoint"] == "cart#show" }.sum(&:cpu) }
        print_json(sums: sums, of_cart: of_cart, stopped: stopped, lost: session.lost, pid: Process.pid)
      RUBY
      collector.stop
      got = collector.profiles
      expect(result).to include(stopped: true, lost: 0)
      result[:sums].each { |type, sum| expect(total(got, type.to_s)).to eq(sum) }
      cart = got.select { |profile| profile.sample_type.first == "cpu" }.flat_map(&:samples).select { |sample| sample.attributes["endpoint"] == "cart#show" }
      expect(cart.sum(&:value)).to eq(result[:of_cart]).and be_positive
      expect(cart.flat_map(&:stack)).to include("Object#burn")
      expect(got.flat_map { |profile| profile.samples.flat_map { |sample| sample.attributes.keys } }.uniq).to eq(["endpoint"])
      expect(got.map(&:resource)).to all(include("service.name" => "shop", "deployment.environment.name" => "test", "process.pid" => result[:pid].to_s,
                                                 "process.runtime.version" => RUBY_VERSION))
      expect(got.map(&:scope).uniq).to eq(["profiler"])
    end
  end

  it "link their samples to the spans in which these were taken" do
    Collector.open(in_box("collector"), need_collector) do |collector|
      result = run_json(<<~RUBY)
        require "#{File.expand_path("../support/open_telemetry", __dir__)}"
        seen = []
        session = Profiler.continuous(to: [Profiler::Otlp.new("#{collector.url}"), ->(profile) { seen << profile }], period: 0.3, mode: :cpu)
        links = []
        6.times { OpenTelemetry.in_span { burn(30); OpenTelemetry.in_span { |it| links << [it.context.hex_trace_id, it.context.hex_span_id]; burn(60) } } }
        session.stop
        ours = seen.flat_map(&:samples).group_by { |row| row.labels.values_at("trace_id", "span_id").compact }.transform_values { |rows| rows.sum(&:cpu) }
        print_json(ours: ours.to_a, links: links)
      RUBY
      collector.stop
      got = collector.profiles.select { |profile| profile.sample_type.first == "cpu" }.flat_map(&:samples)
      expect(got.flat_map { |sample| sample.attributes.keys }).to eq([]), "no label is made of a span"
      weights = got.group_by(&:link).transform_values { |samples| samples.sum(&:value) }
      expect(weights).to eq(result[:ours].to_h.reject { |_link, sum| sum.zero? })
      expect(weights.keys).to include(*result[:links])
    end
  end

  it "read the variables of OpenTelemetry" do
    HttpServer.open do |server|
      env = { "OTEL_EXPORTER_OTLP_ENDPOINT" => "#{server.url}/base/", "OTEL_EXPORTER_OTLP_HEADERS" => "x-key=a%20b,x-other=2", "OTEL_SERVICE_NAME" => "shop",
              "OTEL_RESOURCE_ATTRIBUTES" => "service.version=1%2C2", "PROFILER_CONTINUOUS" => "1", "PROFILER_TO" => "otlp" }
      result = ruby_child("-rprofiler/autoload", "-e", "1_000_000.times(&:to_s)", env: env)
      expect([result.code, result.err]).to eq([0, ""])
      request = server.requests.first
      expect([request.path, request.headers["x-key"], request.headers["content-type"]]).to eq(["/base/v1development/profiles", "a b", "application/x-protobuf"])
      expect(Zlib.gunzip(request.body)).to include("service.version", "1,2", "shop")

      whole = { "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT" => "#{server.url}/all", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS" => "x-key=c" }
      ruby_child("-rprofiler/autoload", "-e", "1_000_000.times(&:to_s)", env: env.merge(whole))
      expect(server.requests.last.then { |request| [request.path, request.headers["x-key"], request.headers["x-other"]] }).to eq(["/all", "c", nil])
    end
  end
end
