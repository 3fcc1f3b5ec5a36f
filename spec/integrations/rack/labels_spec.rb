# frozen_string_literal: true

# The labels that requests have in sessions of the whole process, and in their own profiles.
RSpec.describe "The labels of requests" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { <<~'RUBY' }
    RESULTS = []
    def middleware(app = ->(env) { burn(30); [200, {}, ["x"]] }, **options) = Profiler::Middleware.new(app, out: ->(it) { RESULTS << it }, **options)
    def get(app, path, method = "GET", **env) = app.call({ "REQUEST_METHOD" => method, "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => "a=1" }.merge(env.transform_keys(&:to_s)))
    # The endpoints of the samples that have one.
    def endpoints(profile) = profile.by("endpoint", limit: 0).map { |it| it[:value] }.grep_v("(none)").sort
  RUBY

  it "hold in every session: a method, and the path without its numbers" do
    found, methods, labels = run_json(<<~'RUBY', env: { "BOX" => box })
      app = middleware(->(env) { burn(30); env["labels"] = Profiler.labels; [200, {}, ["x"]] })
      profiles = []
      continuous = Profiler.continuous(period: 60) { |it| profiles << it }
      Profiler.flight_recorder(out: "#{ENV.fetch("BOX")}/flights", at: [])
      whole = Profiler.run { get(app, "/orders/17"); get(app, "/orders/18"); get(app, "/orders", "POST") }
      flight = Profiler.flight.profile
      Profiler.flight.stop
      continuous.stop
      print_json([[whole, flight, *profiles].map { |it| endpoints(it) }, whole.by("method", limit: 0).map { |it| it[:value] }.grep_v("(none)").sort, Profiler.labels])
    RUBY
    expect(found).to eq([["GET /orders/:id", "POST /orders"]] * 3)
    expect(methods).to eq(%w[GET POST])
    expect(labels).to eq({})
  end

  it "add no overhead when no session runs, or only sessions of single requests" do
    seen = run_json(<<~'RUBY')
      seen = []
      app = ->(env) { seen << [Profiler.labels.size, env.key?("profiler.labels")]; [200, {}, ["x"]] }
      [middleware(app), middleware(app, slower_than: 10), middleware(app, sample_rate: 1)].each { |it| 2.times { get(it, "/") } }
      print_json(seen)
    RUBY
    expect(seen).to eq([[0, false]] * 6)
  end

  it "are the app's routes once these are known, unless one path leads to several" do
    first, later, several = run_json(<<~'RUBY')
      app = middleware(->(env) { burn(30); env["sinatra.route"] = "GET #{env["route"] || "/posts/:slug"}"; [200, {}, ["x"]] })
      first = Profiler.run { get(app, "/posts/hello") }
      later = Profiler.run { get(app, "/posts/hello") }
      get(app, "/posts/hello", route: "/admin")
      Profiler.run { get(app, "/posts/hello", route: "/admin") }
      print_json([first, later, Profiler.run { get(app, "/posts/hello") }].map { |it| endpoints(it) })
    RUBY
    expect([first, later, several]).to eq([["GET /posts/hello"], ["GET /posts/:slug"], ["GET /posts/hello"]])
  end

  it "are bounded, and recover from a flood of paths" do
    endpoints, refused, after = run_json(<<~'RUBY')
      app = middleware(->(env) { burn(env["ms"] || 0); [404, {}, ["x"]] })
      ms = { "ms" => 20 }
      profile = Profiler.run do
        letters = ("a".."z").to_a
        6_000.times { |number| get(app, "/#{number.digits(26).map { |it| letters[it] }.join}", "GET") }
        get(app, "/late", **ms)
      end
      Profiler.const_get(:Clock).singleton_class.prepend(Module.new { def now = super + 61 })
      print_json([endpoints(profile), profile.meta[:notes].grep(/label/i), endpoints(Profiler.run { get(app, "/late", **ms) })])
    RUBY
    expect(endpoints).to include("(other)")
    expect(endpoints).not_to include("GET /late")
    expect(refused).to eq([])
    expect(after).to eq(["GET /late"])
  end

  it "replace what differs in a path" do
    patterns = run_json(<<~'RUBY')
      paths = ["/", "/api/v1/orders", "/a/2024-05-01/b", "/u/0b5a61d2-3f0e-4c5b-9d2a-1c2d3e4f5a6b/x", "/h/9f86d081884c7d65", "/17.json", "/17/18",
               "/posts/page2", "/decade", "/t/eyJhbGciOiJIUzI1NiJ9xyz", "/w/#{"word" * 20}", "/\xFF7/7", "", "/17x"]
      print_json(paths.map { |it| Profiler::Middleware::Route.then { |route| route.new(nil).early_labels({}, route.path(nil, it.b))[:endpoint].delete_prefix("(other) ") } })
    RUBY
    expect(patterns).to eq(%w[/ /api/v1/orders /a/:id/b /u/:id/x /h/:id /:id.json /:id/:id
                              /posts/page2 /decade /t/:id /w/:id /?7/:id / /17x])
  end

  it "are those of the response in a request's own profile, whatever they were before" do
    kept, header = run_json(<<~'RUBY')
      controller = Struct.new(:controller_path, :action_name) { def available_action?(_name) = true }.new("orders", "show")
      app = middleware(lambda do |env|
        burn(20)
        Profiler.label(endpoint: "mine") { burn(20) }
        env.update("action_controller.instance" => controller, "action_dispatch.route_uri_pattern" => "/orders/:id(.:format)")
        [404, {}, ["x"]]
      end, slower_than: 0.01, metadata: { "path" => "the app's own" })
      kept = lambda do
        get(app, "/orders/17")
        RESULTS.pop.profile.then { |it| [it.samples.map { |row| row.labels.slice("method", "endpoint", "status", "route").values.sort }.uniq.sort, it.meta[:metadata]] }
      end
      alone = kept.call
      beside = Profiler.start.then { |session| kept.call.tap { session.stop } }
      print_json([[alone[0], beside[0]], alone[1]])
    RUBY
    route = "/orders/:id(.:format)"
    expect(kept).to eq([[[route, "404", "GET", "mine"], [route, "404", "GET", "orders#show"]]] * 2)
    expect(header).to match(method: "GET", path: "the app's own", route: route, endpoint: "orders#show", status: "404", reason: "slow", seconds: match(/\A0\.\d{3}\z/))
  end
end
