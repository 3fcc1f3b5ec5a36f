# frozen_string_literal: true

require "json"

RSpec.describe "A profile shown by Profiler::Middleware" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { <<~RUBY }
    require "fileutils"
    ENV["RACK_ENV"] = "development"
    ENV.delete("RAILS_ENV")
    OUT = #{in_box("profiles").inspect}
    CALLS = []
    APP = ->(env) { CALLS << env["QUERY_STRING"]; burn(30); [200, { "a" => "b" }, ["app"]] }
    def middleware(**options) = Profiler::Middleware.new(APP, out: OUT, **options)
    def get(app, query, method: "GET", **env) = app.call({ "REQUEST_METHOD" => method, "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => query }.merge(env.transform_keys(&:to_s)))
    def shows?(response) = response[2][0].start_with?("<?xml") && response[2][0].include?("Object#burn")
  RUBY

  it "is a flame graph in place of the app's response, by name or as last" do
    expect(run(<<~RUBY)).to eq(<<~TEXT)
      app = middleware
      id = get(app, "profile=cpu")[1]["x-profiler-result"]
      response = get(app, "a=1&profile=\#{id}")
      p response[0], shows?(response), response[1]["content-length"].to_i == response[2][0].bytesize
      puts response[1].values_at("content-type", "cache-control", "x-content-type-options", "content-security-policy")
      p shows?(get(app, "profile=last")), CALLS
      other = middleware.then { |it| get(it, "profile=cpu") }[1]["x-profiler-result"]
      p [id, other].sort == [id, other], get(app, "profile=last")[2] == get(app, "profile=\#{other}")[2]
    RUBY
      200
      true
      true
      image/svg+xml
      no-store
      nosniff
      default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; sandbox allow-scripts
      true
      ["profile=cpu"]
      true
      true
    TEXT
  end

  it "is waited for while it is written, so that last is never stale" do
    expect(run(<<~RUBY)).to eq("true\ntrue\ntrue\n")
      Profiler::Middleware # which loads what it needs
      class Slow < Profiler::Recording::Directory
        def store(result) = (sleep 0.3; super)
      end
      app = Profiler::Middleware.new(->(env) { burn(30); [200, {}, ["app"].each] }, out: Slow.new(OUT))
      pictures = Array.new(2) do
        _status, headers, body = get(app, "profile=cpu")
        closing = Thread.new { body.close }
        last = get(app, "profile=last")
        p shows?(last)
        closing.join
        [headers["x-profiler-result"], last[2]]
      end
      p pictures.map(&:first).uniq.size == 2 && pictures.all? { |id, picture| get(app, "profile=\#{id}")[2] == picture }
    RUBY
  end

  it "is not visible without permission, and only the middleware's own profiles are" do
    expect(run(<<~RUBY)).to eq(<<~TEXT)
      open = middleware
      p get(open, "profile=last")[1].to_a
      id = get(open, "profile=cpu")[1]["x-profiler-result"]
      closed = middleware(token: "a token that nobody guesses")
      p [id, "last"].map { |it| get(closed, "profile=\#{it}").drop(1).map(&:to_a) }.uniq
      p shows?(get(closed, "profile=last", HTTP_X_PROFILER_TOKEN: "a token that nobody guesses"))
      FileUtils.cp("\#{OUT}/\#{id}", "\#{OUT}/../20261122T003012.123-4711-9f86d081.pb.gz")
      FileUtils.cp("\#{OUT}/\#{id}", "\#{OUT}/plain.pb.gz")
      p ["20261122T003012.123-4711-9f86d081.pb.gz", "20261122T003012.123-4711-9f86d081./../../x", "../20261122T003012.123-4711-9f86d081.pb.gz", "plain.pb.gz",
         "\#{id}%0a", "..%2f\#{id}"].map { |it| get(open, "profile=\#{it}").then { |response| [response[2], response[1].size] } }.uniq
      p get(open, "profile=last", method: "POST")[1]["x-profiler-refused"]
      File.write("\#{OUT}/\#{id}", "not a profile")
      p get(open, "profile=\#{id}")[1]["x-profiler-refused"]
      File.chmod(0777, OUT)
      p get(open, "profile=last")[1]["x-profiler-refused"].sub(OUT, "OUT")
      p get(Profiler::Middleware.new(APP, out: ->(_) {}), "profile=last")[1]["x-profiler-refused"]
    RUBY
      [["a", "b"], ["x-profiler-refused", "no such profile"]]
      [[[["a", "b"]], ["app"]]]
      true
      [[["app"], 2], [["app"], 1]]
      "\\"last\\" is not a mode (allowed: cpu, wall, allocations, object, heap, retained)"
      "profiles in this format cannot be shown"
      "out: OUT can be written to by others"
      "no such profile"
    TEXT
  end
end
