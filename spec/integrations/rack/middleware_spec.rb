# frozen_string_literal: true

require_relative "../../support/tools"

RSpec.describe "Profiler::Middleware" do
  include Tools
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { require_program("rack/shop") }

  it "profiles a request with the parameter or header, and adds only the profile's name to the response" do
    requests = run_json(<<~RUBY)
      app = middleware
      requests = [["profile=cpu"], ["a=1&b=2", { HTTP_X_PROFILE: "mode=wall,allocations; interval=500;every=10" }]].map do |query, env|
        status, headers, body = get(app, query, **env.to_h)
        result = RESULTS.pop
        { response: [status, headers.reject { |name, value| name == "x-profiler-result" && value == result.id }, body], names: names(result), reason: result.reason,
          modes: result.profile.meta[:modes], rows: result.profile.samples.map { |it| it.labels.slice("method", "status", "endpoint") }.uniq, labels: result.labels }
      end
      print_json(requests)
    RUBY
    labels = { method: "GET", endpoint: "GET /", status: "200" }
    expect(requests).to eq([%w[cpu], %w[wall allocations]].map do |modes|
      { response: [200, { a: "b" }, ["x"]], names: ["Shop.serve"], reason: "requested", modes: modes, rows: [labels], labels: labels }
    end)
  end

  it "accepts a header that is not text, and a body that is a BasicObject" do
    kept = run_json(<<~'RUBY')
      class Parts < BasicObject
        def each = yield("x")
        def respond_to?(name, _ = false) = name == :each
      end
      app = ->(_env) { [200, {}, Parts.new] }
      answers = [{ HTTP_X_PROFILE: "\xFF" }, { HTTP_X_PROFILE: "mode=cpu" }].map do |env|
        headers, body = get(middleware(app), "", **env).drop(1)
        parts = []
        body.each { |part| parts << part }
        body.close if body.respond_to?(:close)
        [headers.keys, parts]
      end
      print_json(answers: answers, results: RESULTS.size, running: Profiler.running?)
    RUBY
    expect(kept).to eq(answers: [[["x-profiler-refused"], ["x"]], [["x-profiler-result"], ["x"]]], results: 1, running: false)
  end

  # Rack 2 lets headers be all that yields pairs.
  it "takes headers of any kind, and leaves them as they are" do
    kept = program_json("rack/headers")
    added = ->(pairs) { [[*pairs, "x-profiler-result"], [*pairs, "x-profiler-refused"], true] }
    expect(kept[0]).to eq(hash: added[[%w[a b]]], pairs: added[[%w[a b], %w[a c]]], each: added[[%w[a b], %w[set-cookie c]]], none: added[[]])
    expect(kept[1]).to eq("hijacked")
  end

  it "does not touch the defaults of headers and of the env" do
    kept = run_json(<<~'RUBY')
      raising = Hash.new { |_, name| raise name.to_s }.merge!("a" => "b")
      filling = Hash.new { |hash, name| hash[name] = 1 }.merge!("a" => "b")
      names = [raising, filling].map do |headers|
        get(middleware(->(_env) { Shop.serve; [200, headers, ["x"]] }), "profile=cpu")[1].keys
      end
      odd = middleware.call({ "REQUEST_METHOD" => "GET", "QUERY_STRING" => "", "HTTP_X_PROFILE" => 5 })
      print_json([names, filling.keys, odd[0]])
    RUBY
    expect(kept).to eq([[%w[a x-profiler-result]] * 2, %w[a], 200])
  end

  it "ignores the app's own parameters, and gives a reason when it refuses a profile" do
    ignored, refused, profiles = run_json(<<~RUBY)
      app = middleware
      ignored = ["profile=42", "myprofile=cpu", "x=profile%3Dcpu", "profile=", "profile"].map { |it| get(app, it)[1].keys }
      ignored << get(middleware(parameter: nil), "profile=cpu")[1].keys
      refused = ["cpu;interval=1", "cpu;out=/etc/passwd", "cpu,nonsense", "cpu;interval=1%0d%0ax: y", "cpu;" + "x" * 300].map do |it|
        get(app, "profile=" + it)[1]["x-profiler-refused"]
      end
      print_json([ignored, refused, RESULTS.size])
    RUBY
    expect(ignored).to eq([["a"]] * 6)
    expect(refused).to eq(["interval: 1 is not an Integer from 50 to 1000000 microseconds", '"out" is not an option (allowed: mode, interval, every, timeline)',
                           '"nonsense" is not a mode (allowed: cpu, wall, allocations, object, heap, retained, native)', 'interval: "1\r\nx: y" is not an Integer',
                           "the request is longer than 200 bytes"])
    expect(profiles).to eq(0)
  end

  it "keeps a timeline of a request, unless it is told not to" do
    has_timeline = run_json(<<~RUBY)
      ["cpu", "cpu;timeline=0", "wall;timeline=1"].each { |it| get(middleware, "profile=" + it) }
      print_json(RESULTS.map { |it| !it.profile.timeline.nil? })
    RUBY
    expect(has_timeline).to eq([true, false, true])
  end

  it "says which mode was meant by a misspelt one" do
    refused, profiles = run_json(<<~RUBY)
      refused = %w[wal CPU alocations;every=10 mode=nonsense lst cpu,hepa].map { |it| get(middleware, "profile=" + it)[1]["x-profiler-refused"] }
      refused << get(middleware, HTTP_X_PROFILE: "wal")[1]["x-profiler-refused"]
      ignored = ["alice", "w" * 4_000].map { |it| get(middleware, "profile=" + it)[1]["x-profiler-refused"] }
      print_json([refused + ignored, RESULTS.size])
    RUBY
    reason = ->(name, meant) { "#{name.inspect} is not a mode#{": did you mean #{meant}?" if meant} (allowed: cpu, wall, allocations, object, heap, retained, native)" }
    expect(refused).to eq([reason["wal", "wall"], reason["CPU", "cpu"], reason["alocations", "allocations"], reason["nonsense", nil], reason["lst", "last"],
                           reason["hepa", "heap"], reason["wal", "wall"], nil, nil])
    expect(profiles).to eq(0)
  end

  it "profiles a body to its end, and leaves it as the app created it" do
    expect(program_json("rack/bodies")).to match(
      answers: %w[each to_path close], parts: %w[a b], open: 0, names: %w[Shop.send_part Shop.serve Shop.tidy],
      more_ms: be_between(-1, 30), path: "/a", closed: 1
    )
  end

  it "profiles a body to its end whose to_ary is an Enumerator, as in Rails" do
    names = %w[Shop.send_part Shop.serve]
    expect(run_json(<<~RUBY)).to match(counts: [0, 1, 1], parts: [%w[a b], %w[a b]], names: names, more_ms: be_between(-1, 30))
      body = Class.new do
        def each = %w[a b].each { |it| Shop.send_part; yield it }
        def to_ary = to_enum
        def close = nil
      end
      body = get(middleware(->(env) { Shop.serve; [200, {}, body.new] }), "profile=cpu")[2]
      parts = body.to_ary
      body.close
      counts = [RESULTS.size]
      read = Array.new(2) { parts.to_a.tap { counts << RESULTS.size } }
      print_json(counts: counts, parts: read, names: names(RESULTS.first), more_ms: more_ms)
    RUBY
  end

  it "passes exceptions and throws on, and keeps the profile up to them" do
    expect(run_json(<<~RUBY)).to eq(raised: "RuntimeError: no", thrown: "halted", names: [["Shop.serve"]] * 2, labels: [{ method: "GET", endpoint: "GET /" }] * 2)
      raised = error { get(middleware(->(env) { Shop.serve; raise "no" }), "profile=cpu") }
      thrown = catch(:halt) { get(middleware(->(env) { Shop.serve; throw :halt, :halted }), "profile=cpu") }
      print_json(raised: raised, thrown: thrown, names: RESULTS.map { |it| names(it) }, labels: RESULTS.map(&:labels))
    RUBY
  end

  it "passes on a value that is not a response, and keeps the profile" do
    expect(run_json(<<~RUBY)).to eq(responses: [nil, [200, {}]], names: [["Shop.serve"]] * 2, running: false)
      responses = [nil, [200, {}]].map { |response| get(middleware(->(env) { Shop.serve; response }), "profile=cpu") }
      print_json(responses: responses, names: RESULTS.map { |it| names(it) }, running: Profiler::Session.any?)
    RUBY
  end

  it "keeps slow requests, and names their profiles only with permission" do
    headers, results = run_json(<<~RUBY)
      work = ->(env) { env["QUERY_STRING"] == "slow" ? 20.times { Shop.serve } : nil; [200, { "a" => "b" }, ["x"]] }
      app = middleware(work, slower_than: 0.25)
      other = middleware(work, slower_than: 0.25, permit: ->(env) { false })
      print_json([[get(app), get(app, "slow"), get(other, "slow")].map { |it| it[1].keys },
                  RESULTS.map { |it| [it.reason, it.profile.stats[:interval_ns] / 1000, names(it)] }])
    RUBY
    expect(headers).to eq([["a"], %w[a x-profiler-result], ["a"]])
    expect(results).to eq([["slow", 10_000, ["Shop.serve"]]] * 2)
  end

  it "profiles sample_rate: of all requests" do
    expect(run_json(<<~RUBY)).to match([0, be_between(50, 160)])
      app = ->(rate) { middleware(->(env) { [200, {}, ["x"]] }, sample_rate: rate, rate: 10_000) }
      none, some = app[0], app[0.1]
      500.times { get(none) }
      before = RESULTS.size
      1_000.times { get(some) }
      print_json([before, RESULTS.size])
    RUBY
  end

  it "draws for sample_rate: from numbers of its own, other ones in each worker" do
    same, drawn, workers = run_json(<<~RUBY)
      app = middleware(->(env) { [200, {}, ["x"]] }, sample_rate: 0.5, rate: 10_000)
      numbers = -> { srand(7); Array.new(20) { get(app); rand } }
      drawn = -> { Array.new(64) { before = RESULTS.size; get(app); RESULTS.size - before } }
      srand(7)
      plain = Array.new(20) { rand }
      print_json([numbers.call == plain, [srand(7) && drawn.call, srand(7) && drawn.call], Array.new(2) { in_fork { drawn.call } }])
    RUBY
    expect(same).to be true
    expect([drawn, workers].map { |it| it.uniq.size }).to eq([2, 2])
  end

  it "ends a profile after duration: and keeps it" do
    labels = { cut: "after 0.2 s", method: "GET", endpoint: "GET /", status: "200" }
    expect(run_json(<<~RUBY)).to match([[["Shop.serve"], labels, { method: "GET", path: "/", endpoint: "GET /", status: "200", reason: "requested", seconds: be_a(String) }]])
      body = Class.new { def each = 12.times { Shop.serve; sleep 0.05; yield "x" } }
      get(middleware(->(env) { [200, {}, body.new] }, duration: 0.2), "profile=cpu")[2].tap { |it| it.each { } }.close
      print_json(RESULTS.map { |it| [names(it), it.labels, it.profile.meta[:metadata]] })
    RUBY
  end

  it "writes into a private directory and keeps at most keep: files" do
    written = run_json(<<~RUBY)
      out = #{in_box("a/b").inspect}
      app = Profiler::Middleware.new(APP, out: out, keep: 3)
      ids = Array.new(5) { get(app, "profile=cpu")[1]["x-profiler-result"] }
      print_json(ids: ids, modes: [out, *Dir["\#{out}/*"]].map { |it| File.stat(it).mode.to_s(8) }, kept: Dir.children(out).sort,
                 names: Profiler::Profile.load(File.join(out, ids.last)).top.map { |it| it[:name] }.grep(/Shop/))
    RUBY
    expect(written).to include(kept: written[:ids].last(3).sort, modes: ["40700", *["100600"] * 3], names: ["Shop.serve"])
  end

  it "refuses wrong options before the first request" do
    refused = {
      "out: 5" => "out: 5 is not a destination (allowed: a directory, an object with call or store)",
      'out: "a/../b"' => 'out: "a/../b" leads upwards (allowed: a directory without ..)',
      'token: "short"' => "token: is not a String of 16 bytes or more",
      "permit: true" => "permit: true does not respond to call",
      "sample_rate: 2" => "sample_rate: 2 is not a number from 0 to 1",
      'slower_than: "x"' => 'slower_than: "x" is not a number of 0 or more',
      "concurrency: 0" => "concurrency: 0 is not a positive Integer",
      "duration: 0" => "duration: 0 is not a number of 0.01 or more",
      "keep: 0" => "keep: 0 is not a positive Integer",
      "mode: :nothing" => "mode: :nothing is not a mode (allowed: :cpu, :wall, :allocations, :heap, :native, an Array of these)",
      'format: "png"' => 'cannot infer a format from "x.png" (known extensions: .pb.gz, .folded, .html, .svg, .speedscope.json, .firefox.json, .cpuprofile, .callgrind, .stackprof.json, .md, .json, .txt)',
      "route: 1" => "route: 1 does not respond to call"
    }
    output = run_json("print_json([#{refused.keys.map { |it| "error { Profiler::Middleware.new(APP, #{it}) }" }.join(", ")}])")
    expect(refused.keys.zip(output).to_h).to eq(refused.transform_values { |it| "ArgumentError: #{it}" })
  end

  it "passes Rack::Lint" do
    need_library "rack"
    expect(run_json(<<~RUBY)).to eq([[[200, "xy"]] * 3, 3])
      require "rack"
      parts = Class.new { def each = %w[x y].each { |it| yield it } }
      file = Class.new { def each = yield("xy"); def to_path = "/etc/passwd"; def close = nil }
      sent = [%w[x y], parts.new, file.new].map do |body|
        inner = ->(env) { Shop.serve; [200, { "content-type" => "text/plain" }, body] }
        app = Rack::Lint.new(middleware(Rack::Lint.new(inner)))
        status, _headers, sent = app.call(Rack::MockRequest.env_for("/?profile=cpu", "REMOTE_ADDR" => "127.0.0.1", "HTTP_HOST" => "localhost", "SERVER_PROTOCOL" => "HTTP/1.1"))
        text = +""
        sent.each { |it| text << it }
        sent.close
        [status, text]
      end
      print_json([sent, RESULTS.size])
    RUBY
  end
end
