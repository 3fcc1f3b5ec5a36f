# frozen_string_literal: true

require_relative "../support/pyroscope_server"

# Specs of uploads trust these servers: one that takes everything would let them pass.
RSpec.describe "A fake server" do
  include_context "with a box"

  def post(server, path, body, headers = {}, timeout: 60)
    http = Net::HTTP.new("127.0.0.1", server.port)
    http.read_timeout = timeout
    http.max_retries = 0
    http.post(path, body, { "Content-Type" => "application/proto" }.merge(headers))
  end

  describe HttpServer do
    it "answers, fails as it was planned, and records both" do
      HttpServer.open(->(request) { [201, { "X-Path" => request.path }, request.body.reverse] }) do |server|
        server.plan nil, 503, [429, { "Retry-After" => "7" }, "later"], :cut_request, :cut_reply, :hang, [:slow, 0.2]
        outcomes = Array.new(7) do
          reply = post(server, "/a?b=c", "abcdef", timeout: 1)
          [reply.code, reply["Retry-After"], reply.body]
        rescue EOFError, Errno::ECONNRESET, Net::ReadTimeout => e
          e.class
        end
        cut = be(EOFError).or be(Errno::ECONNRESET)
        expect(outcomes).to match [["201", nil, "fedcba"], ["503", nil, ""], ["429", "7", "later"], cut, cut, Net::ReadTimeout, ["201", nil, "fedcba"]]
        expect(server.requests.map(&:status)).to eq [201, 503, 429, nil, nil, nil, 201]
        expect(server.requests.map(&:body)).to eq %w[abcdef abcdef abcdef abc abcdef abcdef abcdef]
        expect(server.requests.first.to_h).to include(verb: "POST", path: "/a", query: "b=c", headers: include("content-type" => "application/proto"))
      end
    end

    it "refuses connections for a while, and fails for ever" do
      HttpServer.open do |server|
        server.refusing { expect { post(server, "/", "") }.to raise_error(Errno::ECONNREFUSED) }
        server.plan [:refuse, 0.5]
        expect { post(server, "/", "") }.to raise_error(an_instance_of(EOFError).or(an_instance_of(Errno::ECONNRESET)))
        expect { post(server, "/", "") }.to raise_error(Errno::ECONNREFUSED)
        wait_until { post(server, "/", "").code == "200" rescue false }
        server.always = ->(request) { 500 if request.path == "/bad" }
        expect(%w[/bad /good /bad].map { |path| post(server, path, "").code }).to eq %w[500 200 500]
      end
    end

    it "passes on what its handler raises" do
      server = HttpServer.new(->(_request) { raise KeyError, "a fault of the spec" })
      expect(post(server, "/", "").code).to eq "500"
      expect { server.stop }.to raise_error(KeyError, "a fault of the spec")
    end
  end

  describe PyroscopeServer do
    # A pprof of samples with the stack of a leaf and its callers.
    def pprof(samples: 1, depth: 2, type: "cpu", value: 7, labels: {}, time: Time.now, filling: 0)
      strings = ["", type, "nanoseconds", "leaf", "caller", *labels.to_a.flatten.grep(String), "x" * filling]
      label = labels.map { |name, of| { 1 => strings.index(name), (of.is_a?(String) ? 2 : 3) => of.is_a?(String) ? strings.index(of) : of } }
      sample = { 1 => [1, *[2] * (depth - 1)], 2 => value, 3 => label }
      Protobuf.encode({ 1 => { 1 => 1, 2 => 2 }, 2 => [sample] * samples, 4 => [1, 2].map { |id| { 1 => id, 4 => { 1 => id } } },
                        5 => [{ 1 => 1, 2 => 3 }, { 1 => 2, 2 => 4 }], 6 => strings, 9 => time.to_i * 1_000_000_000, 11 => { 1 => 1, 2 => 2 } })
    end

    def push(server, raw = pprof, series: {}, headers: {})
      labels = { "__name__" => "process_cpu", "service_name" => "shop" }.merge(series).compact.map { |name, value| { 1 => name, 2 => value } }
      body = Protobuf.encode({ 1 => { 1 => labels, 2 => { 1 => raw, 2 => "an id" } } })
      post(server, PyroscopeServer::PUSH, Zlib.gzip(body), { "Content-Encoding" => "gzip" }.merge(headers))
    end

    def many(count, &block) = Array.new(count, &block).to_h

    it "keeps what it gets, as the real one would" do
      PyroscopeServer.open do |server|
        raw = pprof(depth: 1_001, labels: { "endpoint" => "/x", "span_id" => "f", "host" => "b", "thread" => 5 })
        reply = push(server, Zlib.gzip(raw), series: { "service_name" => nil, "a.b" => "c", "host" => "a" })
        expect([reply.code, reply.body]).to eq ["200", ""]
        kept = server.profiles.fetch(0)
        stored = { "__name__" => "process_cpu", "a_b" => "c", "host" => "a", "service_name" => "unknown_service" }
        expect(kept).to have_attributes(labels: stored, id: "an id", tenant: nil)
        expect(kept.pprof).to have_attributes(sample_types: [%w[cpu nanoseconds]], period_type: %w[cpu nanoseconds], size: raw.bytesize)
        expect(kept.pprof.samples.map(&:to_a)).to eq [[["caller"] * 1_000, [7], { "endpoint" => "/x", "span_id" => "f", "host" => "b" }]]
        expect(server.series).to eq [stored.merge("endpoint" => "/x")]
        push(server, pprof(value: -1))
        expect(server.profiles.last.pprof.samples).to be_empty
      end
    end

    it "refuses what is beyond a limit, and takes what is at it" do
      limits = {
        "time" => [pprof(time: Time.now - 3_570), pprof(time: Time.now - 3_602)],
        "future" => [pprof(time: Time.now + 570), pprof(time: Time.now + 700)],
        "no time" => [pprof(time: 0), pprof(time: 1)],
        "samples" => [pprof(samples: 16_000), pprof(samples: 16_001)],
        "bytes" => [pprof(filling: (4 << 20) - pprof.bytesize - 3), pprof(filling: 4 << 20)],
        "labels of a sample" => [pprof(labels: many(100) { |at| ["l#{at}", 1] }), pprof(labels: many(101) { |at| ["l#{at}", 1] })],
        "names" => [pprof(labels: many(28) { |at| ["l#{at}", "v"] }), pprof(labels: many(29) { |at| ["l#{at}", "v"] })],
        "names of a sample" => [pprof(labels: { "thread.name" => "x" }), pprof(labels: { "thread name" => "x" })],
        "length of a value" => [pprof(labels: { "l" => "v" * 2_048 }), pprof(labels: { "l" => "v" * 2_049 })],
        "length of a name" => [pprof(labels: { "l" * 1_024 => "v" }), pprof(labels: { "l" * 1_025 => "v" })],
        "type" => [pprof(type: "alloc_space"), pprof(type: "alloc-space")],
        "UTF-8" => [pprof(type: "\u00e4"), pprof(type: "\xff".b)],
        "pprof" => [pprof, "no pprof"]
      }
      PyroscopeServer.open(rate: nil) do |server|
        codes = limits.transform_values { |profiles| profiles.map { |raw| push(server, raw).code } }
        expect(codes.reject { |_limit, both| both == %w[200 400] }).to be_empty
        expect(server.profiles.size).to eq limits.size

        series = [{ "__name__" => nil }, { "__name__" => "a-b" }, { "a-b" => "c" }, { "1a" => "c" }, { "a" => "\xff" }, { "\xff" => "c" }, { "" => "c" }]
        expect(series.map { |labels| push(server, series: labels).code }.tally).to eq("400" => series.size)
        expect(JSON.parse(push(server, "no pprof").body)).to include("code" => "invalid_argument")
      end
      PyroscopeServer.open(utf8: true) { |server| expect(push(server, pprof(labels: { "thread name" => "x" })).code).to eq "200" }
    end

    it "has the rate of the real one: what is larger than its burst never passes" do
      PyroscopeServer.open do |server|
        expect(push(server, pprof(filling: 3 << 20)).code).to eq "429"
        expect(Array.new(3) { push(server, pprof(filling: 1_500_000)).code }).to include("200", "429")
        expect(JSON.parse(push(server, pprof(filling: 3 << 20)).body)).to include("code" => "resource_exhausted")
      end
    end

    it "speaks HTTP as the real one does" do
      PyroscopeServer.open(tenants: true, authorization: "Basic eDp5", body: 5_000) do |server|
        headers = { "X-Scope-OrgID" => "t", "Authorization" => "Basic eDp5" }
        expect(push(server, headers: headers).code).to eq "200"
        expect(server.profiles.last.tenant).to eq "t"
        wrong = [{ "Authorization" => "Basic" }, { "X-Scope-OrgID" => nil }, { "Content-Type" => "application/x-protobuf" },
                 { "Content-Encoding" => "deflate" }, { "Content-Encoding" => "identity" }]
        expect(wrong.map { |header| push(server, headers: headers.merge(header).compact).code }).to eq %w[401 401 415 501 400]
        expect(push(server, pprof(filling: 5_000), headers: headers).code).to eq "429"
        expect([post(server, "/push", "").code, server.profiles.size]).to eq ["404", 1]
        get = Net::HTTP.get_response(URI(server.url + PyroscopeServer::PUSH))
        expect([get.code, get["Allow"]]).to eq %w[405 POST]
      end
    end

    it "takes JSON" do
      PyroscopeServer.open do |server|
        sample = { "ID" => "an id", "rawProfile" => [pprof].pack("m0") }
        codes = [sample, sample.transform_keys("ID" => "id"), sample.merge("rawProfile" => "%")].map do |item|
          series = { "labels" => [{ "name" => "__name__", "value" => "wall" }], "samples" => [item] }
          reply = post(server, PyroscopeServer::PUSH, JSON.generate("series" => [series]), { "Content-Type" => "application/json" })
          [reply.code, reply.body[0, 2]]
        end
        expect(codes).to eq [["200", "{}"], ["200", "{}"], ["400", '{"']]
        expect(server.profiles.map(&:id)).to eq ["an id", ""]
      end
    end

    it "takes a pprof at /ingest, and a form only without the format" do
      form = ->(name, raw) { "--b\r\nContent-Disposition: form-data; name=\"#{name}\"; filename=\"f\"\r\n\r\n".b + raw + "\r\n--b--\r\n".b }
      type = { "Content-Type" => "multipart/form-data; boundary=b" }
      PyroscopeServer.open(body: 5_000) do |server|
        requests = [["shop{env=a.b,r=x}&format=pprof", pprof], ["shop", form["profile", pprof]], ["shop&format=pprof", form["profile", pprof]],
                    ["shop", form["prev_profile", pprof]], ["shop%20x&format=pprof", pprof], ["shop{a-b=c}&format=pprof", pprof],
                    ["shop&format=pprof", "x" * 5_001], ["shop&format=pprof", pprof(time: 1)]]
        expect(requests.map { |name, body| post(server, "/ingest?name=#{name}", body, type).code }).to eq %w[200 200 422 422 400 400 413 422]
        labels = { "__name__" => "process_cpu", "__delta__" => "false", "service_name" => "shop" }
        expect(server.profiles.map(&:labels)).to eq [labels.merge("env" => "a.b", "r" => "x"), labels]
      end
    end

    it "can be Alloy, which refuses nothing that it can pass on" do
      PyroscopeServer.open(alloy: true) do |server|
        expect(push(server, "no pprof", series: { "a b" => "c", "service_name" => nil }).code).to eq "200"
        expect(post(server, "/ingest?name=shop%20x", pprof(time: 1)).code).to eq "200"
        expect(post(server, PyroscopeServer::PUSH, "", { "Content-Type" => "text/plain" }).code).to eq "415"
        labels = { "__name__" => "process_cpu", "a b" => "c", "service_name" => "process_cpu" }
        expect(server.profiles.first).to have_attributes(raw: "no pprof", labels: labels)
      end
    end

    it "reads a file of ours with the sums that it has" do
      code = 'require "profiler"; profile = Profiler.run(mode: %i[cpu wall]) { 1_000_000.times(&:to_s) }; profile.save(ARGV[0]); print profile.totals["cpu"]'
      result = ruby_child("-e", code, in_box("a.pb.gz"))
      read = Pprof.new(File.binread(in_box("a.pb.gz")))
      expect(read.total("cpu")).to eq(Integer(result.out)).and be_positive
      expect(read.samples.flat_map(&:stack)).to include("Integer#times", "<main>")
      expect(read.period_type).to eq %w[wall nanoseconds]
    end
  end
end
