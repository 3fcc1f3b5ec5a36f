# frozen_string_literal: true

RSpec.describe "Profiler::Middleware without permission" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { require_program("rack/guarded") }

  it "returns no profile, and leaves the response unchanged" do
    changed = run_json(<<~RUBY, env: { "RACK_ENV" => nil, "RAILS_ENV" => nil })
      untouched = [nil, "production", "test", "", "developmental"].map { |it| ENV["RACK_ENV"] = it; untouched?(get(middleware)) }
      ENV["RACK_ENV"] = "development"
      untouched += [{ permit: ->(env) { false } }, { permit: ->(env) { nil } }, { token: TOKEN }].map { |it| untouched?(get(middleware(**it))) }
      # Nor does nonsense, which is refused only with permission.
      untouched += ["profile=cpu;interval=1", "profile=cpu;nonsense=1", "profile=wal", "profile=\\xff;"].map { |it| untouched?(get(middleware(token: TOKEN), it)) }
      ENV.update("RACK_ENV" => "development", "RAILS_ENV" => "production")
      untouched << untouched?(get(middleware))
      ENV.delete("RAILS_ENV")
      print_json([untouched, untouched?(get(middleware))])
    RUBY
    expect(changed).to eq([[true] * 13, false])
  end

  it "reads the token only from its header" do
    untouched, profiles = run_json(<<~RUBY, env: { "RACK_ENV" => nil })
      app = middleware(token: TOKEN)
      untouched = ["", TOKEN[0..-2], TOKEN + "x", TOKEN.upcase].map { |it| untouched?(get(app, HTTP_X_PROFILER_TOKEN: it)) }
      untouched << untouched?(get(app, "profile=cpu&token=\#{TOKEN}&X-Profiler-Token=\#{TOKEN}&HTTP_X_PROFILER_TOKEN=\#{TOKEN}"))
      untouched << untouched?(get(app, "profile=cpu;token=\#{TOKEN}"))
      get(app, HTTP_X_PROFILER_TOKEN: TOKEN)
      print_json([untouched, RESULTS.size])
    RUBY
    expect([untouched, profiles]).to eq([[true] * 6, 1])
  end

  it "requires both token and permit if both are set, and denies on an error" do
    lost = eq("[profiler] a request for a profile was refused: RuntimeError: in permit\n")
    untouched, profiles = run_json(<<~RUBY, env: { "RACK_ENV" => "development" }, err: lost)
      permission = nil
      app = middleware(token: TOKEN, permit: ->(env) { permission == :raise ? raise("in permit") : permission })
      untouched = [false, :raise, nil].map { |it| permission = it; untouched?(get(app, HTTP_X_PROFILER_TOKEN: TOKEN)) }
      permission = true
      untouched << untouched?(get(app))
      get(app, HTTP_X_PROFILER_TOKEN: TOKEN)
      print_json([untouched, RESULTS.size])
    RUBY
    expect([untouched, profiles]).to eq([[true] * 4, 1])
  end

  it "denies if permit: raises any kind of error, or throws to the app" do
    lost = match(/\A(\[profiler\] a request for a profile was refused: (\S+: in permit|SystemStackError: .*|Profiler::Error: a callback threw to the app)\n){7}\z/)
    untouched, caught = run_json(<<~RUBY, env: { "RACK_ENV" => "development" }, err: lost)
      errors = [NotImplementedError, LoadError, SecurityError, NoMemoryError].map { |it| ->(env) { raise it, "in permit" } }
      deep = ->(env) { deep.(env) }
      caught = :nothing
      untouched = [*errors, deep].map { |permit| untouched?(get(middleware(permit: permit))) }
      caught = catch(:halted) do
        2.times { untouched << untouched?(get(middleware(permit: ->(env) { throw :halted, :thrown }))) }
        :nothing
      end
      print_json([untouched, caught])
    RUBY
    expect([untouched, caught]).to eq([[true] * 7, "nothing"])
  end

  it "denies, and says why, if permit: would need a copy of a session that cannot be copied" do
    denied = run_json(<<~'RUBY', err: match(/\A\[profiler\] a request for a profile was refused: ArgumentError: rack.session: #<Session:0x\h+> cannot be copied, so permit is not called \(allowed: an object with dup\)\n\z/))
      class Session < BasicObject; end
      class Copied < BasicObject
        def initialize = @hash = { a: 1 }
        def dup = ::Copied.new
        def respond_to_missing?(*) = false
        def [](name) = (@hash[:b] = 2) && @hash[name]
        def to_h = @hash
      end
      session, copied = Session.new, Copied.new
      permit = ->(env) { env["rack.session"][:a] == 1 }
      env = { "rack.session" => session }
      untouched = untouched?(get(middleware(permit: permit), **env))
      result = get(middleware(permit: permit), **{ "rack.session" => copied })[1].key?("x-profiler-result")
      print_json(untouched: untouched, same: env["rack.session"].equal?(session), result: result, left: copied.to_h)
    RUBY
    expect(denied).to eq(untouched: true, same: true, result: true, left: { a: 1 })
  end

  it "passes on what was delivered from outside while permit: ran" do
    passed = program_json("rack/delivered", env: { "RACK_ENV" => "development" })
    expect(passed).to eq([nil, "Stop", "IOError", "timed out", "SystemExit", "Interrupt"])
  end

  it "leaves nothing running and the response as it is when a route or a store of the app's raises" do
    lost = "[profiler] a request has no endpoint: RuntimeError: in route\n[profiler] a profile was lost: RuntimeError: in store\n"
    expect(run_json(<<~RUBY, env: { "RACK_ENV" => "development" }, err: eq(lost))).to eq(results: 1, untouched: true, running: [0, 0])
      running = -> { ObjectSpace.each_object(Profiler::Session).count(&:running?) }
      get(middleware(route: ->(env) { raise "in route" }))
      first = [RESULTS.size, running.call]
      RESULTS.clear
      untouched = untouched?(get(Profiler::Middleware.new(APP, out: ->(it) { raise "in store" })))
      print_json(results: first[0], untouched: untouched, running: [first[1], running.call])
    RUBY
  end

  it "keeps its limits when a thousand requests come at once" do
    served = run_json(<<~RUBY, env: { "RACK_ENV" => "development" })
      most = called = 0
      look = -> { most = [most, ObjectSpace.each_object(Profiler::Session).count(&:running?)].max }
      work = ->(env) { look.call if (called += 1) <= 20; sleep 0.01; [200, HEADERS, BODY] }
      app = Profiler::Middleware.new(work, out: ->(it) { RESULTS << it }, concurrency: 4, rate: 20)
      watch = Thread.new { loop { look.call; sleep 0.001 } }
      responses = Array.new(1_000) { Thread.new { get(app) } }.map(&:value)
      watch.kill
      named, refused = responses.map { |it| it[1] }.partition { |it| it["x-profiler-result"] }
      profiles = RESULTS.size
      25.times { get(app) }
      print_json(answered: responses.count { |it| it[0] == 200 && it[2].equal?(BODY) }, named: named.size, profiles: profiles, most: most,
                 refused: refused.map { |it| it["x-profiler-refused"] }.uniq, last: get(app)[1]["x-profiler-refused"])
    RUBY
    full = ["20 profiles were taken within a minute", "4 profiles are running already"]
    expect(served).to match(answered: 1_000, named: be_between(1, 20), profiles: served[:named], most: be_between(1, 4), refused: be_any, last: full[0])
    expect(served[:refused] - full).to eq([])
  end

  it "writes nowhere but into a directory of its own" do
    Dir.mkdir(in_box("elsewhere"))
    Dir.mkdir(in_box("open"))
    File.chmod(0o777, in_box("open"))
    File.symlink(in_box("elsewhere"), in_box("link"))
    File.write(in_box("file"), "")
    %w[link open file].each do |name|
      lost = match(/\A\[profiler\] a profile was lost: ArgumentError: out: .*#{name} (is a symbolic link|is writable by others|is not a directory)\n\z/)
      response = run_json(<<~RUBY, env: { "RACK_ENV" => "development" }, err: lost)
        print_json(get(Profiler::Middleware.new(->(env) { [200, {}, ["x"]] }, out: #{in_box(name).inspect})))
      RUBY
      expect(response).to eq([200, {}, ["x"]])
    end
    expect(Dir.children(in_box("elsewhere")) + Dir.children(in_box("open"))).to be_empty
  end

  it "escapes names that a client can choose, in every format" do
    evil = "</script><script>alert(1)</script>\"';\n\t\0\xff`$(id)` %s & <b>"
    method = run_json(<<~RUBY, env: { "RACK_ENV" => "development" })
      app = Profiler::Middleware.new(->(env) { burn(20); [200, {}, ["x"]] }, out: ->(it) { RESULTS << it }, route: ->(env) { env["PATH_INFO"] })
      app.call("REQUEST_METHOD" => #{evil.dump}, "REMOTE_ADDR" => "::1", "QUERY_STRING" => "profile=cpu;timeline=1", "PATH_INFO" => #{evil.dump})
      result = RESULTS.pop
      %w[svg folded speedscope.json firefox.json cpuprofile callgrind stackprof.json md json txt pb.gz].each { |it| result.profile.save("#{box}/evil.\#{it}") }
      print_json(result.labels[:method])
    RUBY
    expect(method).to eq("(other)")
    written = files.grep(/\Aevil/).to_h { |name| [name, File.binread(in_box(name)).force_encoding("UTF-8")] }
    text = written.reject { |name, _| name.end_with?(".gz") }
    expect(text.values).to all(be_valid_encoding)
    expect(written.fetch("evil.svg")).not_to match(/<b>|alert\(1\)<\/script>/)
    expect(written.fetch("evil.folded").lines).to be_any.and all(match(/\A[^;].* \d+\n\z/))
    expect(text.size).to eq(10)
    text.select { |name, _| name =~ /json\z|cpuprofile\z/ }.each { |name, it| expect(JSON.parse(it)).to be_a(Hash), name }
    expect(text.values.join).not_to include("\0")
  end
end
