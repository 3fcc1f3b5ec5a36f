# frozen_string_literal: true

# Requests, envs and responses that no specification forbids clearly enough: the app's response is as without the middleware.
RSpec.describe "Profiler::Middleware, with odd requests and responses" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { require_program("rack/permitted") }

  it "ignores empty words among the options of a request" do
    kept = run_json(<<~'RUBY')
      print_json(["cpu;;interval=500", ";cpu", " ; ;", ";", "", "cpu;"].map { |header| kept(middleware, "", HTTP_X_PROFILE: header) })
    RUBY
    expect(kept).to eq([[200, true, ["x"]]] * 6)
  end

  # A server passes the bytes of a path, and a mount has a name in UTF-8.
  it "takes a path of any bytes below a mount of any name, also while a session runs" do
    kept = run_json(<<~'RUBY')
      Profiler.start
      answers = [["/caf\u00E9", "/\xFF".b], ["/caf\u00E9".b, "/\u00E9"], ["/\xE9".dup.force_encoding("ISO-8859-1"), "/\u00E9"], [nil, nil]].map do |mount, path|
        kept(middleware, "profile=cpu", SCRIPT_NAME: mount, PATH_INFO: path)
      end
      print_json(answers: answers, paths: RESULTS.map { |it| it.profile.meta[:metadata][:path] || it.profile.meta[:metadata]["path"] })
    RUBY
    expect(kept).to eq(answers: [[200, true, ["x"]]] * 4, paths: ["/café/\uFFFD", "/café/é", "/?/é", "/"].map { |path| path.tr("\uFFFD", "?") })
  end

  it "takes an env with keys and values of any kind" do
    kept = run_json(<<~'RUBY')
      env = { Object => 1, nil => 2, 5 => 3, [1] => 4, "rack.session" => BasicObject.new }
      denied = Profiler::Middleware.new(APP, permit: ->(env) { env.delete("rack.session"); false })
      print_json([kept(middleware, **env.slice(Object, nil, 5, [1])), kept(middleware, **env.slice(Object)), kept(middleware, [], HTTP_X_PROFILE: "cpu"), kept(middleware, 5), kept(denied, **env.slice(5))])
    RUBY
    expect(kept).to eq([[200, true, ["x"]]] * 3 + [[200, false, ["x"]]] * 2)
  end

  it "returns a response of any kind as the app did" do
    kept = program_json("rack/odd_responses", err: match(/\A(\[profiler\] the headers of a response were not extended: .*\n)*\z/))
    expect(kept).to eq(same: [[true]] * 4, running: 0)
  end

  # Rack allows only a Hash; but a default block, as for a counter, is a Hash's own.
  it "never asks for a key that the env does not have" do
    kept = program_json("rack/raising_env")
    expect(kept).to eq(answers: ["none"], whole: "none", running: 0)
  end

  it "passes on an env that is frozen, or no Hash" do
    kept = run_json(<<~'RUBY')
      app = ->(env) { [200, {}, [env.class.name]] }
      apps = [middleware(app), middleware(app, sample_rate: 1.0), middleware(Profiler::Middleware::OnDemand.new(app), permit_inside: true), Profiler::Pprof.new(app, permit: ->(_env) { true })]
      Profiler.start
      print_json(apps.product([{ "QUERY_STRING" => "profile=cpu", "PATH_INFO" => "/debug/pprof" }.freeze, nil, 5, []]).map { |it, env| error { it.call(env) } }.uniq)
    RUBY
    expect(kept).to eq(["none"])
  end

  it "asks a body as the server would, even one that defines respond_to? with one argument" do
    parts = run_json(<<~'RUBY')
      class Parts
        def each = yield("x")
        def respond_to?(name) = name == :each
      end
      body = get(middleware(->(_env) { [200, {}, Parts.new] }))[2]
      answers = %i[each to_ary call to_path close].map { |name| body.respond_to?(name) }
      parts = []
      body.each { |part| parts << part }
      body.close
      print_json(parts: parts, answers: answers, results: RESULTS.size)
    RUBY
    expect(parts).to eq(parts: ["x"], answers: [true, false, false, false, true], results: 1)
  end

  it "passes on a server's hijack as what can be called like a Proc" do
    kept = run_json(<<~'RUBY')
      calls = [->(hijack) { hijack.call }, ->(hijack) { hijack.() }, ->(hijack) { hijack[] }, ->(hijack) { hijack.to_proc.call }]
      print_json(calls.map do |call|
        io = StringIO.new
        get(middleware(->(env) { call[env["rack.hijack"]].write("x") and [200, {}, []] }), "rack.hijack" => -> { io })
        io.close
        [io.string, RESULTS.shift&.reason]
      end)
    RUBY
    expect(kept).to eq([%w[x requested]] * 4)
  end
end
