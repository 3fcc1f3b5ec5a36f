# frozen_string_literal: true

require_relative "../../support/tools"

RSpec.describe "Profiler::Pprof" do
  include_context "with a box"
  include_context "with a program"
  include Tools

  let(:prelude) { require_program("pprof/app") }

  it "says what is allowed when a request is wrong, and records nothing" do
    answers = run_json(<<~'RUBY')
      app = pprof(token: TOKEN, most_seconds: 20)
      queries = ["seconds=0", "seconds=21", "seconds=-1", "seconds=1.5", "seconds=", "seconds", "seconds=1e1", "seconds=0x10", "seconds= 1", "seconds=9" * 1_000,
                 "seconds=\xff", "seconds=1%30", "seconds=99&seconds=1", "seconds=1&debug=1"]
      bad = queries.map { |it| get(app, "/profile", it, **BEARER) }
      bad += [get(app, "/heap", "seconds=1", **BEARER), get(app, "/heap", "debug=2", **BEARER)]
      unknown = ["/goroutine", "/mutex", "/cmdline", "/profile/", "//profile", "/../profile", "/PROFILE", "/profile\0", "/\xff"].map { |it| get(app, it, **BEARER) }
      methods = %w[POST PUT DELETE OPTIONS TRACE get] + [nil, "\xff"]
      methods = methods.map { |it| get(app, "/profile", "seconds=1", **BEARER, REQUEST_METHOD: it) }
      shown = ->(all) { all.map { |it| [it[0], it[1]["x-go-pprof"], it[1]["content-type"], it[2].join.encoding.to_s] }.uniq }
      print_json(bad: shown[bad], unknown: shown[unknown], methods: shown[methods], allow: methods[0][1]["allow"],
                 said: [bad[0], bad[13], bad[14], unknown[0]].map { |it| it[2].join }, open: open_now)
    RUBY
    text = ["1", "text/plain; charset=utf-8", "UTF-8"]
    expect(answers).to eq(bad: [[400, *text]], unknown: [[404, *text]], methods: [[405, *text]], allow: "GET, HEAD", open: [0, 0], said: [
      "seconds: \"0\" is not an Integer from 1 to 20\n", "debug: only pprof is served, not text (allowed: 0). go tool pprof and profiler report show it as text\n",
      "heap: is a snapshot, so seconds: does not apply\n", "unknown path (allowed: /profile, /wall, /allocs, /heap, /memory, /threads, /metrics)\n"
    ])
  end

  it "answers HEAD without a body, and records nothing for it" do
    took, answers = run_json(<<~'RUBY')
      app = pprof(token: TOKEN)
      before = now
      answers = %w[/ /profile /wall /allocs /heap /memory /threads /metrics].map { |it| get(app, it, **BEARER, REQUEST_METHOD: "HEAD").then { |status, _headers, body| [status, body] } }
      print_json([(now - before) / 1e9, answers])
    RUBY
    expect(took).to be < 5
    expect(answers).to eq([[200, []]] * 4 + [[404, []]] + [[200, []]] * 3)
  end

  it "says why objects are alive, and what changed since the last ledger" do
    answers = run_json(<<~'RUBY')
      module Shop; class Order; def initialize = @text = "o" * 3_000; end; ALL = Array.new(50) { Order.new }; end
      app = pprof(token: TOKEN)
      body = ->(query) { get(app, "/memory", query, **BEARER).then { |status, _headers, parts| [status, parts.join] } }
      first = body["since=1"]
      why = body["why=Shop%3A%3AOrder"]
      KEPT = Array.new(3_000) { "k" * 2_000 }
      since = body["since=1&json=1"]
      print_json(first: first, why: why, since: [since[0], JSON.parse(since[1])],
                 bad: ["why=Lost", "why=%ff", "since=2", "max_pause=x", "owners=1&max_pause=0.000001"].map { |it| body[it] })
    RUBY
    expect(answers[:first]).to match([404, /no ledger was requested before: request \/memory once/])
    expect(answers[:why]).to match([200, /^Why 50 objects of class Shop::Order are alive.*> ::ALL  Array$/m])
    expect(answers[:since]).to match([200, include(kinds: include(include(name: "main_arena")))])
    expect(answers[:bad]).to match([[400, /why: no class is named "Lost"/], [400, /why: is not text in UTF-8/], [400, /since: "2" is not allowed/],
                                    [400, /max_pause: "x" is not a number/], [503, /would stand still for some .* \(max_pause\)/]])
  end

  it "serves where the memory of the process is, with owners on request" do
    text, json, owners, wrong, open = run_json(<<~'RUBY')
      app = pprof(token: TOKEN)
      body = ->(query) { get(app, "/memory", query, **BEARER).then { |status, headers, parts| [status, headers["content-type"], parts.join] } }
      kept = Array.new(20_000) { |number| "a text of its own #{number}" * 4 }
      print_json([body[""], body["json=1"], body["json=1&owners=1"], body["owners=yes"], [*open_now, kept.size]])
    RUBY
    expect(text).to match([200, "text/plain; charset=utf-8", match(/resident|RSS/i)])
    expect(json.first(2)).to eq([200, "application/json"])
    expect(JSON.parse(json.last)).to include("rss" => be > 10_000_000, "kinds" => be_any)
    expect(JSON.parse(owners.last).dig("snapshot", "owners").map { |owner| owner["name"] }).to include("String")
    expect(wrong).to eq([400, "text/plain; charset=utf-8", "owners: \"yes\" is not allowed (allowed: 0, 1)\n"])
    expect(open.first(2)).to eq([0, 0])
  end

  it "checks its options" do
    expect(run_json(<<~'RUBY')).to all(start_with("ArgumentError: "))
      wrong = [{ token: "short" }, { permit: 1 }, { concurrency: 0 }, { most_seconds: 1.5 }, { frequency: 0 }, { max_overhead: 2 }, { at: "pprof" }, { at: "/pprof/" }, { at: nil }]
      print_json(wrong.map { |it| error { pprof(**it) } })
    RUBY
  end

  it "authorizes by a token in either header, or by permit:, and in development on this machine" do
    statuses = run_json(<<~'RUBY', env: { "RACK_ENV" => nil, "RAILS_ENV" => nil }, err: match(/\A(\[profiler\] a request (from|for a profile) .*\n)+\z/))
      status = ->(app, **env) { get(app, "/metrics", **env)[0] }
      token = pprof(token: TOKEN)
      right = [{ HTTP_AUTHORIZATION: "Bearer #{TOKEN}" }, { HTTP_AUTHORIZATION: "bearer   #{TOKEN}" }, { HTTP_X_PROFILER_TOKEN: TOKEN },
               { HTTP_AUTHORIZATION: "Basic x", HTTP_X_PROFILER_TOKEN: TOKEN }, { **BEARER, HTTP_HOST: "evil.example", HTTP_ORIGIN: "http://evil.example" }]
      wrong = [{}, { HTTP_AUTHORIZATION: TOKEN }, { HTTP_AUTHORIZATION: "Bearer" }, { HTTP_AUTHORIZATION: "Bearer #{TOKEN}x" }, { HTTP_AUTHORIZATION: "Basic #{TOKEN}" },
               { HTTP_AUTHORIZATION: "Bearer \xff" }, { HTTP_X_PROFILER_TOKEN: "" }, { QUERY_STRING: "token=#{TOKEN}" }]
      both = pprof(token: TOKEN, permit: ->(env) { env["user"] == "admin" })
      raising = [->(_env) { raise "in permit" }, ->(_env) { throw :halt }, ->(env) { env.fetch("nothing") }].map { |it| status[pprof(permit: it)] }
      nobody = status[pprof]
      ENV["RACK_ENV"] = "development"
      development = [{}, { REMOTE_ADDR: "10.0.0.1" }, { HTTP_X_FORWARDED_FOR: "1.2.3.4" }, { HTTP_HOST: "evil.example" }].map { |it| status[pprof, **it] }
      print_json(right: right.map { |it| status[token, **it] }, wrong: wrong.map { |it| status[token, **it] }, raising: raising, nobody: nobody, development: development,
                 both: [status[both], status[both, **BEARER], status[both, user: "admin"], status[both, user: "admin", **BEARER]])
    RUBY
    expect(statuses).to eq(right: [200] * 5, wrong: [404] * 8, raising: [404] * 3, nobody: 404, development: [200, 404, 404, 404], both: [404, 404, 404, 200])
  end

  it "refuses, without a token, what a page of another site may have caused" do
    said = match(/\A(\[profiler\] a request for a profile was refused, because a page of another site may have caused it \(Host: "\S+"\); with token: .*\n)+\z/)
    statuses = run_json(<<~'RUBY', err: said)
      allowed = [{}, { HTTP_HOST: "127.0.0.1:1" }, { HTTP_HOST: "[::1]:1" }, { HTTP_HOST: nil }, { HTTP_HOST: "shop.test" }, { HTTP_HOST: "shop.example", REMOTE_ADDR: "10.0.0.1" },
                 { HTTP_HOST: "shop.example", HTTP_X_FORWARDED_FOR: "10.0.0.1" }, { HTTP_ORIGIN: "http://localhost:3000" }, { HTTP_SEC_FETCH_SITE: "same-origin" },
                 { HTTP_SEC_FETCH_SITE: "none" }]
      foreign = [{ HTTP_HOST: "evil.example" }, { HTTP_HOST: "localhost.evil.example" }, { HTTP_ORIGIN: "http://evil.example" }, { HTTP_ORIGIN: "null" },
                 { HTTP_ORIGIN: "http://localhost:4000" }, { HTTP_SEC_FETCH_SITE: "cross-site" }, { HTTP_SEC_FETCH_SITE: "same-site" }]
      statuses = [allowed, foreign].map { |them| them.map { |env| get(pprof(permit: ->(_env) { true }), "/metrics", **env)[0] } }
      print_json(statuses)
    RUBY
    expect(statuses).to eq([[200] * 10, [404] * 7])
  end

  it "leaves everything to the app that it stands before, but the requests that are permitted" do
    same = run_json(<<~'RUBY')
      response = [200, {}.freeze, [].freeze]
      app = pprof(->(_env) { response }, token: TOKEN)
      paths = ["", "/", "/debug", "/debug/pprofs/profile", "/debug/pprof", "/debug/pprof/", "/debug/pprof/profile"].map { |it| get(app, it, SCRIPT_NAME: "").equal?(response) }
      permitted = ["/debug/pprofs/profile", "/debug/pprof", "/debug/pprof/metrics"].map { |it| get(app, it, SCRIPT_NAME: "", **BEARER).equal?(response) }
      print_json([paths, permitted, get(app, "/debug/pprof", SCRIPT_NAME: "/sub", **BEARER)[2].join[/href="[^"]*/]])
    RUBY
    expect(same).to eq([[true] * 7, [true, false, false], 'href="pprof/profile'])
  end

  it "is visible in Rails only to permitted clients" do
    need_library "rails", "sqlite3"
    answers = run_json(<<~RUBY, env: { "BOX" => box, "RAILS_ENV" => "production", "RACK_ENV" => nil }, ruby_options: ["-W0"], err: be_a(String))
      require "rack/mock"
      require #{File.expand_path("../rails/apps/shop.rb", __dir__).inspect}
      File.write(File.join(BOX = ENV.fetch("BOX"), "404.html"), "none")
      FileUtils.mkdir_p(File.join(BOX, "public"))
      File.write(File.join(BOX, "public/404.html"), "no such page")
      ShopApp.routes.draw do
        mount Profiler::Pprof.new(token: TOKEN) => "/debug/pprof"
      end
      ask = lambda do |path, env = {}|
        status, headers, body = ShopApp.call(Rack::MockRequest.env_for("http://localhost\#{path}", { "REMOTE_ADDR" => "127.0.0.1" }.merge(env)))
        text = +""
        body.each { |part| text << part }
        [status, headers.to_h.reject { |name, _value| name =~ /request-id|runtime/i }, text]
      end
      print_json([ask["/debug/pprof/profile"], ask["/debug/other/profile"], ask["/debug/pprof/metrics", { "HTTP_AUTHORIZATION" => "Bearer \#{TOKEN}" }]])
    RUBY
    expect(answers[0]).to eq(answers[1])
    expect(answers[0]).to match([404, be_a(Hash), "no such page"])
    expect(answers[2][2]).to include("profiler_sessions 0")
  end

  it "records a session that nobody else stops, whatever runs beside it", :timed do
    result = run_json(<<~'RUBY')
      app = pprof(token: TOKEN)
      class Shop; def self.work(ms) = Array.new(ms) { 100.times { |it| it + 1 } }; end
      thread = Thread.new { loop { Shop.work(20) } }
      responses = %w[/profile /wall /allocs].map { |it| Thread.new { get(app, it, "seconds=1", **BEARER) } }
      wait_for { open_now == [3, 3] }
      stopped = error { Profiler.stop }
      running = Profiler.running?
      mine = Profiler.run(mode: :cpu) { burn(20) }
      responses = responses.map(&:value)
      thread.kill
      cpu, wall, allocations = responses.map { |it| profile(it) }
      print_json(stopped: stopped, running: running, mine: mine.stats[:cpu_ns], statuses: responses.map(&:first), seconds: cpu.stats[:duration_ns] / 1e9, left: open_now,
                 types: [cpu, wall, allocations].map { |it| it.totals.keys & %w[cpu wall alloc_objects alloc_space inuse_space] }, interval: cpu.stats[:interval_ns],
                 found: [samples_in(cpu, "Shop.work").sum(&:cpu), samples_in(wall, "Shop.work").sum(&:wall), samples_in(allocations, "Shop.work").sum(&:alloc_objects)])
    RUBY
    expect(result).to match(stopped: start_with("Profiler::NotRunning"), running: true, mine: be_positive, statuses: [200] * 3, seconds: be_between(0.99, 5), left: [0, 0],
                            types: [%w[cpu], %w[wall], %w[alloc_objects alloc_space]], interval: 10_000_000, found: all(be_positive))
  end

  it "is neither slow nor sampled for a middleware and a flight recorder around it" do
    kept, saved, files = run_json(<<~RUBY, env: { "RACK_ENV" => "development" })
      kept = []
      flight = Profiler.flight_recorder(out: #{box.dump}, at: [], slower_than: 0.2)
      app = ->(env) { env["PATH_INFO"] == "/slow" ? [200, {}, [burn(500).to_s]] : pprof(token: TOKEN).call(env) }
      app = Profiler::Middleware.new(Profiler::Middleware.new(app, slower_than: 0.2, out: ->(it) { kept << it.reason }), sample_rate: 1, out: ->(it) { kept << it.reason })
      statuses = [get(app, "/profile", "seconds=1", **BEARER)[0], get(app, "/wall", "seconds=1", **BEARER)[0]]
      scraped = [statuses, kept.dup]
      get(app, "/slow")
      wait_for { flight.saved.positive? }
      flight.stop
      print_json([scraped, kept, flight.saved])
    RUBY
    expect([kept, saved, files]).to eq([[[200, 200], []], %w[slow sampled], 1])
  end

  it "answers as Rack demands" do
    need_library "rack"
    statuses = run_json(<<~'RUBY', ruby_options: ["-W0"], err: be_a(String))
      require "rack"
      require "rack/mock"
      apps = [pprof(token: TOKEN), Rack::Deflater.new(pprof(token: TOKEN)), Rack::ContentLength.new(Rack::Head.new(pprof(token: TOKEN)))]
      paths = ["/", "", "/profile?seconds=1", "/heap", "/threads", "/metrics", "/nothing", "/wall?seconds=0"]
      asked = apps.product(paths, [["GET", true], ["GET", false], ["HEAD", true]]).map do |app, path, (method, permitted)| # Rack::URLMap, too, has a body for HEAD
        env = Rack::MockRequest.env_for("http://localhost#{path}", method: method, "HTTP_ACCEPT_ENCODING" => "gzip", **(permitted ? { "HTTP_AUTHORIZATION" => "Bearer #{TOKEN}" } : {}))
        status, headers, body = Rack::Lint.new(app).call(env)
        bytes = +""
        body.each { |part| bytes << part }
        body.close
        [path, status, headers.to_h.transform_keys(&:downcase)["content-encoding"], bytes.b.start_with?("\x1f\x8b".b)] if permitted && method == "GET"
      end
      print_json(asked.compact.uniq)
    RUBY
    expect(statuses).to eq([["/", 200, nil, false], ["", 200, nil, false], ["/profile?seconds=1", 200, nil, true], ["/heap", 404, nil, false], ["/threads", 200, nil, false],
                            ["/metrics", 200, nil, false], ["/nothing", 404, nil, false], ["/wall?seconds=0", 400, nil, false]])
  end

  it "leaves nothing after a kill, a Timeout, an exception and a client that goes away in the middle" do
    result = program_json("pprof/interrupted")
    none = [0, 0]
    expect(result[0]).to eq([["returned", false, none], [503, none], ["Interrupt", none], ["Timeout::Error", none], [503, none]])
    expect(result.drop(1)).to eq([none, %w[Interrupt returned], 200])
  end

  it "answers with the live objects of a continuous session that tracks them" do
    result = run_json(<<~'RUBY')
      app = pprof(token: TOKEN)
      class Shop; KEPT = []; def self.keep = KEPT.concat(Array.new(5_000) { |it| "kept #{it}" }); end
      Profiler.continuous(mode: :heap, every: 10, period: 60) {}
      Shop.keep
      first, second = Array.new(2) { profile(get(app, "/heap", **BEARER)) }
      live = [first, second].map { |it| samples_in(it, "Shop.keep").sum(&:inuse_objects) }
      Profiler::Continuous.current.stop
      after = get(app, "/heap", **BEARER)
      Profiler.continuous(mode: :cpu, period: 60) {}
      print_json(live: live, after: [after[0], after[2]], other: get(app, "/heap", **BEARER)[0])
    RUBY
    expect(result[:live]).to all(be_between(4_000, 6_000))
    expect(result[:after]).to eq([404, ["no continuous session tracks live objects in this process. Start one: Profiler.continuous(mode: %i[cpu heap], out: ...), " \
                                        "or PROFILER_CONTINUOUS=1 PROFILER_MODE=cpu,heap\n"]])
    expect(result[:other]).to eq(404)
  end

  it "lists threads with names that break nothing, and what they carry" do
    text = run(<<~'RUBY')
      class Shop; def self.take_from(queue) = queue.pop; end
      queue, ready = Queue.new, Queue.new
      names = ["worker 1", "<b>\n[run]\e[31m", "\xff\xfe".dup.force_encoding("UTF-8"), "日本".encode("EUC-JP"), nil]
      threads = names.map { |name| Thread.new { Profiler.label(endpoint: "orders#show", "a\nb": "c\nd") { ready << true; Shop.take_from(queue) } }.tap { |it| it.name = name } }
      names.size.times { ready.pop }
      sleep 0.05
      Profiler.continuous(period: 60) {}
      wait_for { Thread.list.any? { |it| it.name == "profiler continuous" && it.status == "sleep" } }
      puts get(pprof(token: TOKEN), "/threads", **BEARER)[2].join
    RUBY
    heads = text.lines(chomp: true).grep(/\A\S/)
    expect(text).to be_valid_encoding
    expect(heads.first).to match(/\A7 threads, process \d+\z/)
    expect(heads[1]).to eq("main [run]")
    expect(heads.grep(/endpoint="orders#show"/).size).to eq(5)
    expect(heads.grep(/\Aworker 1 \[sleep\] a b="c d" endpoint="orders#show"\z/).size).to eq(1)
    expect(heads.grep(/\A日本 \[sleep/).size).to eq(1)
    expect(heads.last).to start_with("profiler continuous (of the profiler) [sleep")
    expect(text.scan(/^    .*Shop\.take_from|`take_from'/).size).to eq(5)
    expect(text).not_to match(/[\0-\x09\x0b-\x1f\x7f]/)
  end
end
