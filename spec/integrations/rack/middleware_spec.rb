# frozen_string_literal: true

require "json"
require_relative "../../support/tools"

RSpec.describe "Profiler::Middleware" do
  include Tools
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { <<~'RUBY' }
    require "json"
    ENV["RACK_ENV"] = "development" unless ENV["RACK_ENV"]
    class Shop
      def self.serve = burn(15)
      def self.send_part = burn(15)
      def self.tidy = burn(15)
    end
    APP = ->(env) { Shop.serve; [200, { "a" => "b" }.freeze, ["x"]] }
    RESULTS = []
    def middleware(app = APP, **options) = Profiler::Middleware.new(app, out: ->(it) { RESULTS << it }, **options)
    def get(app, query = "", **env) = app.call({ "REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => query }.merge(env.transform_keys(&:to_s)))
    def names(result) = result.profile.samples.flat_map { |it| it.frames.map(&:name) }.uniq.grep(/Shop/).sort
    def cpu_ms(result) = result.profile.samples.sum(&:cpu) / 1e6
  RUBY

  it "profiles a request with the parameter or header, and adds only the profile's name to the response" do
    expect(run(<<~RUBY)).to eq(<<~TEXT)
      app = middleware
      [["profile=cpu"], ["a=1&b=2", { HTTP_X_PROFILE: "mode=wall,allocations; interval=500;every=10" }]].each do |query, env|
        status, headers, body = get(app, query, **env.to_h)
        result = RESULTS.pop
        p [status, headers.reject { |name, value| name == "x-profiler-result" && value == result.id }.to_a, body]
        row = result.profile.samples.map { |it| it.labels.slice("method", "status") }.uniq
        mode = result.profile.meta[:modes].join(",")
        puts "\#{result.reason} \#{mode} \#{names(result)} \#{row == [{ "method" => "GET", "status" => "200" }]} \#{result.labels.to_a}"
      end
    RUBY
      [200, [["a", "b"]], ["x"]]
      asked cpu ["Shop.serve"] true [[:method, "GET"], [:status, "200"]]
      [200, [["a", "b"]], ["x"]]
      asked wall,allocations ["Shop.serve"] true [[:method, "GET"], [:status, "200"]]
    TEXT
  end

  it "ignores the app's own parameters, and says why it refuses a profile" do
    expect(run(<<~RUBY)).to eq(<<~TEXT)
      app = middleware
      ["profile=42", "myprofile=cpu", "x=profile%3Dcpu", "profile=", "profile"].each { |it| p get(app, it)[1].keys }
      ["cpu;interval=1", "cpu;out=/etc/passwd", "cpu,nonsense", "cpu;interval=1%0d%0ax: y", "cpu;" + "x" * 300].each do |it|
        puts get(app, "profile=" + it)[1]["x-profiler-refused"]
      end
      p RESULTS.size, get(middleware(parameter: nil), "profile=cpu")[1].keys
    RUBY
      ["a"]
      ["a"]
      ["a"]
      ["a"]
      ["a"]
      interval: 1 is not an Integer from 50 to 1000000 microseconds
      "out" is not an option (allowed: mode, interval, every, timeline)
      "nonsense" is not a mode (allowed: cpu, wall, allocations, object, heap, retained)
      interval: "1\\r\\nx: y" is not an Integer
      the request is longer than 200 bytes
      0
      ["a"]
    TEXT
  end

  it "profiles a body to its end, and leaves it as the app created it" do
    expect(run(<<~RUBY)).to eq("[[\"each\", true], [\"to_path\", true], [\"to_ary\", false], [\"call\", false], [\"close\", true]]\n[\"a\", \"b\"]\n0\n[\"Shop.send_part\", \"Shop.serve\", \"Shop.tidy\"]\ntrue\n/a\n1\n")
      body = Class.new do
        def each = %w[a b].each { |it| Shop.send_part; yield it }
        def to_path = "/a"
        def close = Shop.tidy
      end
      app = middleware(->(env) { Shop.serve; [200, {}, body.new] })
      response = get(app, "profile=cpu")
      p %i[each to_path to_ary call close].map { |it| [it.to_s, response[2].respond_to?(it)] }
      burn(50) # of the server
      parts = []
      response[2].each { |it| parts << it }
      p parts, RESULTS.size
      response[2].close
      burn(50)
      p names(RESULTS.first), cpu_ms(RESULTS.first).between?(56, 90) # 4 times 15, less up to 1 each
      puts response[2].to_path
      response[2].close
      p RESULTS.size
    RUBY
  end

  it "profiles a body to its end whose to_ary is an Enumerator, as in Rails" do
    expect(run(<<~RUBY)).to eq("0\n[\"a\", \"b\"]\n1\n[\"Shop.send_part\", \"Shop.serve\"]\ntrue\n[\"a\", \"b\"]\n1\n")
      body = Class.new do
        def each = %w[a b].each { |it| Shop.send_part; yield it }
        def to_ary = to_enum
        def close = nil
      end
      body = get(middleware(->(env) { Shop.serve; [200, {}, body.new] }), "profile=cpu")[2]
      parts = body.to_ary
      body.close
      p RESULTS.size, parts.to_a, RESULTS.size, names(RESULTS.first), cpu_ms(RESULTS.first).between?(41, 70), parts.to_a, RESULTS.size
    RUBY
  end

  it "passes exceptions and throws on, and keeps the profile up to them" do
    expect(run(<<~RUBY)).to eq("RuntimeError: no\n:halted\n[[\"Shop.serve\"], [\"Shop.serve\"]]\n[{}, {}]\n")
      puts error { get(middleware(->(env) { Shop.serve; raise "no" }), "profile=cpu") }
      p(catch(:halt) { get(middleware(->(env) { Shop.serve; throw :halt, :halted }), "profile=cpu") })
      p RESULTS.map { |it| names(it) }, RESULTS.map { |it| it.labels.except(:method) }
    RUBY
  end

  it "passes on what is no response, and keeps the profile" do
    expect(run(<<~RUBY)).to eq("nil\n[200, {}]\n[[\"Shop.serve\"], [\"Shop.serve\"]]\nfalse\n")
      p get(middleware(->(env) { Shop.serve; nil }), "profile=cpu")
      p get(middleware(->(env) { Shop.serve; [200, {}] }), "profile=cpu")
      p RESULTS.map { |it| names(it) }, Profiler::Session.any?
    RUBY
  end

  it "keeps slow requests, and names their profiles only with permission" do
    expect(run(<<~RUBY)).to eq("[[\"a\"], [\"a\", \"x-profiler-result\"], [\"a\"]]\n[:slow, 10000, [\"Shop.serve\"]]\n[:slow, 10000, [\"Shop.serve\"]]\n")
      work = ->(env) { env["QUERY_STRING"] == "slow" ? 4.times { Shop.serve } : nil; [200, { "a" => "b" }, ["x"]] }
      app = middleware(work, slower_than: 0.03)
      other = middleware(work, slower_than: 0.03, permit: ->(env) { false })
      p [get(app), get(app, "slow"), get(other, "slow")].map { |it| it[1].keys }
      RESULTS.each { |it| p [it.reason, it.profile.stats[:interval_ns] / 1000, names(it)] }
    RUBY
  end

  it "profiles sample_rate: of all requests" do
    expect(run(<<~RUBY)).to eq("0\ntrue\n")
      app = ->(rate) { middleware(->(env) { [200, {}, ["x"]] }, sample_rate: rate, rate: 10_000) }
      none, some = app[0], app[0.1]
      500.times { get(none) }
      p RESULTS.size
      1_000.times { get(some) }
      p RESULTS.size.between?(50, 160)
    RUBY
  end

  it "ends a profile after duration: and keeps it" do
    expect(run(<<~RUBY)).to eq("[\"Shop.serve\"]\n{:cut=>\"after 0.2 s\"}\n1\n".then { |it| RUBY_VERSION < "3.4" ? it : it.sub(":cut=>", "cut: ") })
      body = Class.new { def each = 12.times { Shop.serve; sleep 0.05; yield "x" } }
      get(middleware(->(env) { [200, {}, body.new] }, duration: 0.2), "profile=cpu")[2].tap { |it| it.each { } }.close
      p names(RESULTS.first)
      puts RESULTS.first.labels
      p RESULTS.size
    RUBY
  end

  it "writes into a private directory and keeps at most keep: files" do
    expect(run(<<~RUBY)).to eq("[\"40700\", [\"100600\"], 3, true]\n[\"Shop.serve\"]\n")
      out = #{in_box("a/b").inspect}
      app = Profiler::Middleware.new(APP, out: out, keep: 3)
      ids = Array.new(5) { get(app, "profile=cpu")[1]["x-profiler-result"] }
      modes = Dir.children(out).map { |it| File.stat(File.join(out, it)).mode.to_s(8) }.uniq
      p [File.stat(out).mode.to_s(8), modes, Dir.children(out).size, Dir.children(out).sort == ids.last(3).sort]
      p Profiler::Profile.load(File.join(out, ids.last)).top.map { |it| it[:name] }.grep(/Shop/)
    RUBY
  end

  it "refuses wrong options before the first request" do
    expect(run(<<~RUBY)).to eq(<<~TEXT)
      [{ out: 5 }, { out: "a/../b" }, { token: "short" }, { permit: true }, { sample_rate: 2 }, { slower_than: "x" }, { concurrency: 0 },
       { duration: 0 }, { keep: 0 }, { mode: :nothing }, { format: "png" }, { route: 1 }].each do |it|
        puts error { Profiler::Middleware.new(APP, **it) }
      end
    RUBY
      ArgumentError: out: 5 is not a destination (allowed: a directory, an object with call or store)
      ArgumentError: out: "a/../b" leads upwards (allowed: a directory without ..)
      ArgumentError: token: it is not a String of 16 bytes or more
      ArgumentError: permit: true does not respond to call
      ArgumentError: sample_rate: 2 is not a number from 0 to 1
      ArgumentError: slower_than: "x" is not a number from 0 on
      ArgumentError: concurrency: 0 is not an Integer from 1 on
      ArgumentError: duration: 0 is not a number from 0.01 on
      ArgumentError: keep: 0 is not an Integer from 1 on
      ArgumentError: mode: :nothing is not a mode (allowed: :cpu, :wall, :allocations, :heap, an Array of these)
      ArgumentError: the name "x.png" tells no format (known are .pb.gz, .folded, .svg, .speedscope.json, .firefox.json, .cpuprofile, .callgrind, .stackprof.json, .md, .json, .txt)
      ArgumentError: route: 1 does not respond to call
    TEXT
  end

  it "passes Rack::Lint" do
    need_library "rack"
    expect(run(<<~RUBY)).to eq("[200, \"xy\"]\n[200, \"xy\"]\n[200, \"xy\"]\n3\n")
      require "rack"
      parts = Class.new { def each = %w[x y].each { |it| yield it } }
      file = Class.new { def each = yield("xy"); def to_path = "/etc/passwd"; def close = nil }
      [%w[x y], parts.new, file.new].each do |body|
        inner = ->(env) { Shop.serve; [200, { "content-type" => "text/plain" }, body] }
        app = Rack::Lint.new(middleware(Rack::Lint.new(inner)))
        status, _headers, sent = app.call(Rack::MockRequest.env_for("/?profile=cpu", "REMOTE_ADDR" => "127.0.0.1", "HTTP_HOST" => "localhost", "SERVER_PROTOCOL" => "HTTP/1.1"))
        text = +""
        sent.each { |it| text << it }
        sent.close
        p [status, text]
      end
      p RESULTS.size
    RUBY
  end
end
