# frozen_string_literal: true

RSpec.describe "Profiler::Middleware without permission" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { <<~'RUBY' }
    TOKEN = "a token that nobody guesses"
    RESULTS = Queue.new
    BODY = ["x"].freeze
    HEADERS = { "a" => "b" }.freeze
    APP = ->(env) { [200, HEADERS, BODY] }
    def middleware(**options) = Profiler::Middleware.new(APP, out: ->(it) { RESULTS << it }, **options)
    def get(app, query = "profile=cpu", **env) = app.call({ "REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => query }.merge(env.transform_keys(&:to_s)))
    # Nothing of ours is in it: the very objects that the app gave.
    def untouched?(response) = response.zip([200, HEADERS, BODY]).all? { |got, gave| got.equal?(gave) } && RESULTS.empty?
  RUBY

  it "gives no profile, and leaves the response unchanged" do
    expect(run(<<~RUBY, env: { "RACK_ENV" => nil, "RAILS_ENV" => nil })).to eq("[true, true, true, true, true]\n[true, true, true]\n[true, true, true]\nfalse\n")
      p [nil, "production", "test", "", "developmental"].map { |it| ENV["RACK_ENV"] = it; untouched?(get(middleware)) }
      ENV["RACK_ENV"] = "development"
      p [{ permit: ->(env) { false } }, { permit: ->(env) { nil } }, { token: TOKEN }].map { |it| untouched?(get(middleware(**it))) }
      # Nor does nonsense, which is refused only with permission.
      p ["profile=cpu;interval=1", "profile=cpu;nonsense=1", "profile=\\xff;"].map { |it| untouched?(get(middleware(token: TOKEN), it)) }
      ENV.update("RACK_ENV" => "development", "RAILS_ENV" => "production")
      p !untouched?(get(middleware))
    RUBY
  end

  it "reads the token from its header alone" do
    expect(run(<<~RUBY, env: { "RACK_ENV" => nil })).to eq("[true, true, true, true, true, true]\n1\n")
      app = middleware(token: TOKEN)
      wrong = ["", TOKEN[0..-2], TOKEN + "x", TOKEN.upcase].map { |it| untouched?(get(app, HTTP_X_PROFILER_TOKEN: it)) }
      wrong << untouched?(get(app, "profile=cpu&token=\#{TOKEN}&X-Profiler-Token=\#{TOKEN}&HTTP_X_PROFILER_TOKEN=\#{TOKEN}"))
      wrong << untouched?(get(app, "profile=cpu;token=\#{TOKEN}"))
      p wrong
      get(app, HTTP_X_PROFILER_TOKEN: TOKEN)
      p RESULTS.size
    RUBY
  end

  it "requires both token and permit where both are set, and denies on an error" do
    result = ruby_child("-e", "require 'profiler'\n#{prelude}\n#{<<~RUBY}", env: { "RACK_ENV" => "development" })
      said = nil
      app = middleware(token: TOKEN, permit: ->(env) { said == :raise ? raise("in permit") : said })
      p [false, :raise, nil].map { |it| said = it; untouched?(get(app, HTTP_X_PROFILER_TOKEN: TOKEN)) }
      said = true
      p untouched?(get(app))
      get(app, HTTP_X_PROFILER_TOKEN: TOKEN)
      p RESULTS.size
    RUBY
    expect(result.out).to eq("[true, true, true]\ntrue\n1\n"), result.err
    expect(result.err).to eq("[profiler] a profile was lost: RuntimeError: in permit\n")
  end

  it "leaves nothing running and the response as it is when a route or a store of the app's raises" do
    result = ruby_child("-e", "require 'profiler'\n#{prelude}\n#{<<~RUBY}", env: { "RACK_ENV" => "development" })
      get(middleware(route: ->(env) { raise "in route" }))
      p RESULTS.size, ObjectSpace.each_object(Profiler::Session).any?(&:running?)
      p get(Profiler::Middleware.new(APP, out: ->(it) { raise "in store" })).zip([200, HEADERS, BODY]).all? { |got, gave| got.equal?(gave) }
      p ObjectSpace.each_object(Profiler::Session).any?(&:running?)
    RUBY
    expect(result.out).to eq("1\nfalse\ntrue\nfalse\n"), result.err
    expect(result.err).to eq("[profiler] a profile was lost: RuntimeError: in route\n[profiler] a profile was lost: RuntimeError: in store\n")
  end

  it "keeps its limits when a thousand requests come at once" do
    expect(run(<<~RUBY, env: { "RACK_ENV" => "development" })).to eq("[1000, true, true, true]\ntrue\ntrue\n20 profiles were taken within a minute\n")
      most = 0
      app = Profiler::Middleware.new(->(env) { sleep 0.01; [200, HEADERS, BODY] }, out: ->(it) { RESULTS << it }, concurrency: 4, rate: 20)
      watch = Thread.new { loop { most = [most, ObjectSpace.each_object(Profiler::Session).count(&:running?)].max; sleep 0.001 } }
      responses = Array.new(1_000) { Thread.new { get(app) } }.map(&:value)
      watch.kill
      answered = responses.count { |it| it[0] == 200 && it[2].equal?(BODY) }
      named, refused = responses.map { |it| it[1] }.partition { |it| it["x-profiler-result"] }
      p [answered, RESULTS.size <= 20, RESULTS.size == named.size, refused.all? { |it| it["x-profiler-refused"] }]
      p refused.all? { |it| ["20 profiles were taken within a minute", "4 profiles are running already"].include?(it["x-profiler-refused"]) }
      p most.between?(1, 4)
      25.times { get(app) }
      puts get(app)[1]["x-profiler-refused"]
    RUBY
  end

  it "writes nowhere but into a directory of its own" do
    Dir.mkdir(in_box("elsewhere"))
    Dir.mkdir(in_box("open"))
    File.chmod(0o777, in_box("open"))
    File.symlink(in_box("elsewhere"), in_box("link"))
    File.write(in_box("file"), "")
    %w[link open file].each do |name|
      result = ruby_child("-e", <<~RUBY, in_box(name), env: { "RACK_ENV" => "development" })
        require "profiler"
        p Profiler::Middleware.new(->(env) { [200, {}, ["x"]] }, out: ARGV[0]).call("REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => "profile=cpu")
      RUBY
      expect(result.out).to eq("[200, {}, [\"x\"]]\n")
      expect(result.err).to match(/\A\[profiler\] a profile was lost: ArgumentError: out: .*#{name} (is a link|can be written to by others|is no directory)\n\z/)
    end
    expect(Dir.children(in_box("elsewhere")) + Dir.children(in_box("open"))).to be_empty
  end

  it "keeps what a client can name inert in every format" do
    evil = "</script><script>alert(1)</script>\"';\n\t\0\xff`$(id)` %s & <b>"
    out = run(<<~RUBY, env: { "RACK_ENV" => "development" })
      app = Profiler::Middleware.new(->(env) { burn(20); [200, {}, ["x"]] }, out: ->(it) { RESULTS << it }, route: ->(env) { env["PATH_INFO"] })
      app.call("REQUEST_METHOD" => #{evil.dump}, "REMOTE_ADDR" => "::1", "QUERY_STRING" => "profile=cpu;timeline=1", "PATH_INFO" => #{evil.dump})
      result = RESULTS.pop
      p result.labels[:method]
      %w[svg folded speedscope.json firefox.json cpuprofile callgrind stackprof.json md json txt pb.gz].each { |it| result.profile.save("#{box}/evil.\#{it}") }
    RUBY
    expect(out).to eq("\"(other)\"\n")
    written = files.grep(/\Aevil/).to_h { |name| [name, File.binread(in_box(name)).force_encoding("UTF-8")] }
    text = written.reject { |name, _| name.end_with?(".gz") }
    expect(text.values).to all(be_valid_encoding)
    expect(written.fetch("evil.svg")).not_to match(/<b>|alert\(1\)<\/script>/)
    expect(written.fetch("evil.folded").lines).to all(match(/\A[^;].* \d+\n\z/))
    expect(text.size).to eq(10)
    text.select { |name, _| name =~ /json\z|cpuprofile\z/ }.each { |name, it| expect(JSON.parse(it)).to be_a(Hash), name }
    expect(text.values.join).not_to include("\0")
  end
end
