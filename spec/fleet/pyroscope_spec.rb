# frozen_string_literal: true

require_relative "../support/pyroscope_server"

RSpec.describe "Windows for Pyroscope" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    class Shop
      def search(milliseconds) = burn(milliseconds)
    end
    def burn_for(endpoint) = Profiler.label(endpoint: endpoint, user: rand.to_s) { Shop.new.search(60) }
  RUBY

  # The profiles of a family.
  def of(server, metric, type)
    server.profiles.select { |profile| profile.labels["__name__"] == metric && profile.pprof.sample_types.map(&:first).include?(type) }
  end

  def total(server, metric, type) = of(server, metric, type).sum { |profile| profile.pprof.total(type) }

  it "are what a block gets, family by family and label by label" do
    PyroscopeServer.open(rate: nil) do |server|
      result = run_json(<<~RUBY)
        seen = []
        to = [Profiler::Pyroscope.new("#{server.url}", service: "shop", labels: { region: "eu" }), ->(profile) { seen << profile }]
        session = Profiler.continuous(to: to, period: 0.3, mode: %i[cpu allocations])
        6.times { |number| burn_for(number.even? ? "cart#show" : "cart#add") }
        stopped = session.stop
        sums = %i[cpu alloc_objects alloc_space].to_h { |type| [type, seen.sum { |profile| profile.totals.fetch(type.to_s, 0) }] }
        of_cart = seen.sum { |profile| profile.samples.select { |row| row.labels["endpoint"] == "cart#show" }.sum(&:cpu) }
        print_json(sums: sums, of_cart: of_cart, windows: seen.size, stopped: stopped, delivered: session.delivered, lost: session.lost)
      RUBY
      expect(result).to include(stopped: true, lost: 0, delivered: result[:windows] * 2)
      expect(total(server, "process_cpu", "cpu")).to eq(result[:sums][:cpu])
      expect(total(server, "memory", "alloc_objects")).to eq(result[:sums][:alloc_objects])
      expect(total(server, "memory", "alloc_space")).to eq(result[:sums][:alloc_space])
      cart = of(server, "process_cpu", "cpu").flat_map { |profile| profile.pprof.samples }.select { |sample| sample.labels["endpoint"] == "cart#show" }
      expect(cart.sum { |sample| sample.values.first }).to eq(result[:of_cart]).and be_positive
      expect(cart.flat_map(&:stack)).to include("Shop#search")
      expect(server.profiles.map { |profile| profile.labels.values_at("service_name", "region", "__delta__") }.uniq).to eq([%w[shop eu false]])
      # Of its labels only the endpoint is a dimension: a user would be a series.
      expect(server.profiles.flat_map { |profile| profile.pprof.samples.flat_map { |sample| sample.labels.keys } }.uniq).to contain_exactly("endpoint")
      expect(server.requests.map { |request| request.headers["user-agent"] }).to all(match(%r{\Aprofiler/[\d.]+ \(Ruby #{RUBY_VERSION}\)\z}))
    end
  end

  it "have the span with which the process entered the trace, and that span names them" do
    PyroscopeServer.open(rate: nil) do |server|
      roots, attributes = run_json(<<~RUBY)
        require "#{File.expand_path("../support/open_telemetry", __dir__)}"
        session = Profiler.continuous(to: Profiler::Pyroscope.new("#{server.url}"), period: 0.3, mode: :cpu)
        spans = 3.times.map { OpenTelemetry.in_span { |root| burn(30); OpenTelemetry.in_span { |it| burn(60); [root, it] } } }
        session.stop
        print_json([spans.map { |root, _| root.context.hex_span_id }, spans.map { |pair| pair.map(&:attributes) }])
      RUBY
      samples = server.profiles.flat_map { |profile| profile.pprof.samples }
      of_spans = samples.select { |sample| sample.labels["span_id"] }
      expect(of_spans.map { |sample| sample.labels["span_id"] }.uniq).to match_array(roots)
      expect(of_spans.sum { |sample| sample.values.first }).to be_within(60_000_000).of(270_000_000)
      expect(attributes).to eq(roots.map { |root| [{ :"pyroscope.profile.id" => root }, {}] })
      expect(server.series.flat_map(&:keys)).not_to include("span_id", "trace_id")
    end
  end

  it "need no more than a variable, and go on in forked children" do
    PyroscopeServer.open(rate: nil) do |server|
      code = "pids = 2.times.map { fork { 1_000_000.times(&:to_s); exit!(0) if $0 == 'x' } }; 1_000_000.times(&:to_s); pids.each { |pid| Process.wait(pid) }"
      env = { "PROFILER_CONTINUOUS" => "1", "PROFILER_TO" => "pyroscope", "PYROSCOPE_SERVER_ADDRESS" => server.url, "PYROSCOPE_APPLICATION_NAME" => "jobs",
              "PYROSCOPE_LABELS" => "env=test,region=eu" }
      result = ruby_child("-rprofiler/autoload", "-e", code, env: env)
      expect([result.code, result.err, result.out]).to eq([0, "", ""])
      expect(server.profiles.map { |profile| profile.labels.slice("service_name", "env", "region") }.uniq)
        .to eq(["service_name" => "jobs", "env" => "test", "region" => "eu"])
      expect(of(server, "process_cpu", "cpu").size).to eq(3)
      expect(server.profiles.map(&:id).uniq.size).to eq(server.profiles.size)
    end
  end

  it "carry what the server demands, and never tell it" do
    PyroscopeServer.open(rate: nil, tenants: true, authorization: "Basic #{["7:s3cret"].pack("m0")}") do |server|
      url = server.url.sub("//", "//7:s3cret@")
      result = run_json(<<~RUBY)
        sink = Profiler::Pyroscope.new("#{url}", tenant: "team", service: "shop")
        session = Profiler.continuous(to: sink, period: 60)
        burn
        print_json([session.stop, sink.inspect, session.lost])
      RUBY
      expect(result).to eq([true, "#<Profiler::Pyroscope #{server.url}/push.v1.PusherService/Push>", 0])
      expect(server.profiles.map(&:tenant)).to include("team")
      message = "[profiler] a window for pyroscope was lost: Profiler::Error: #{server.url}/push.v1.PusherService/Push: HTTP 401: "
      run(<<~RUBY, err: start_with(message).and(satisfy { |text| !text.include?("other") }))
        session = Profiler.continuous(to: Profiler::Pyroscope.new("#{url.sub("s3cret", "other")}", tenant: "team"), period: 60)
        burn
        session.stop
        raise session.error.inspect unless session.lost == 1 && session.delivered == 0
      RUBY
    end
  end

  it "name one service for all workers of a server" do
    out = run(<<~RUBY)
      titles = ["puma: cluster worker 0: 4711 [shop]", "puma 5.6.5 (tcp://0.0.0.0:9292) [shop]", #{__FILE__.inspect}, "-e", "", "sidekiq 7 shop [0 of 5 busy]"]
      puts titles.map { |it| Profiler.const_get(:Sinks)::Service.program(it) }
      $PROGRAM_NAME = "unicorn worker[3] -c x.rb"
      puts Profiler.const_get(:Sinks)::Service.name_from, Profiler.const_get(:Sinks)::Service.name_from("OTEL_RESOURCE_ATTRIBUTES" => "a=b,service.name=shop")
    RUBY
    expect(out.lines(chomp: true)).to eq(%w[puma puma pyroscope_spec -e ruby sidekiq unicorn shop])
  end

  it "refuse values that are not allowed, and name them" do
    out = run(<<~'RUBY')
      puts [
        -> { Profiler::Pyroscope.new("ftp://x:hush@host") }, -> { Profiler::Pyroscope.new("nothing") }, -> { Profiler::Pyroscope.new(timeout: 0) },
        -> { Profiler::Pyroscope.new(headers: { "a" => "b\nc: d" }) }, -> { Profiler::Pyroscope.new(values: 0) }, -> { Profiler::Pyroscope.new(service: "") },
        -> { Profiler.continuous(to: 7) }, -> { Profiler.continuous(to: "parca") }, -> { Profiler.continuous },
        -> { Profiler::Pyroscope.new(labels: "hush") }, -> { Profiler::Otlp.new(labels: 7) }, -> { Profiler::Pyroscope.new(headers: "hush") },
        -> { Profiler::Otlp.new(headers: 7) }, -> { Profiler::Pyroscope.new("http://host:65536") }, -> { Profiler::Otlp.new("http://host:0") },
        -> { ENV["PYROSCOPE_HTTP_HEADERS"] = "[hush]"; Profiler::Pyroscope.new }
      ].map { |block| error(&block) }
    RUBY
    sinks = "is not a sink (allowed: pyroscope, otlp, Profiler::Pyroscope, Profiler::Otlp, Profiler::Directory, what responds to call)"
    expect(out.lines(chomp: true)).to eq([
      "ArgumentError: url: (not shown, because it may contain a password) is not an http or https URL", %(ArgumentError: url: "nothing" is not an http or https URL),
      "ArgumentError: timeout: 0 is not a number of seconds above 0 and up to 86400", "ArgumentError: headers: a name or value has a line break, or is not valid text",
      "ArgumentError: values: 0 is not a positive Integer", "ArgumentError: service: is empty (allowed: a name that is not empty)", "ArgumentError: to: 7 #{sinks}",
      %(ArgumentError: to: "parca" #{sinks}), "ArgumentError: no block given, and no out: or to:",
      "ArgumentError: labels: is String, which is not a Hash", "ArgumentError: labels: is Integer, which is not a Hash",
      "ArgumentError: headers: is String, which is not a Hash", "ArgumentError: headers: is Integer, which is not a Hash",
      %(ArgumentError: url: "http://host:65536" is not an http or https URL), %(ArgumentError: url: "http://host:0" is not an http or https URL),
      "ArgumentError: PYROSCOPE_HTTP_HEADERS is not a JSON object"
    ])
  end

  it "print no password of an address or a header, neither in messages nor in their causes" do
    out = run_program("fleet/passwords")
    expect(out.lines(chomp: true)).to eq(["[]", "0", '["ArgumentError", "Profiler::Error"]'])
  end

  it "print no password of an address in the environment on stderr" do
    env = { "PROFILER_CONTINUOUS" => "1", "PROFILER_TO" => "pyroscope", "PYROSCOPE_SERVER_ADDRESS" => "http//me:hush@host" }
    result = ruby_child("-rprofiler/autoload", "-e", "puts 1", env: env)
    expect(result).to have_attributes(out: "1\n", err: /\[profiler\] this process is not profiled: url: \(not shown/)
    expect(result.err).not_to include("hush")
  end
end
