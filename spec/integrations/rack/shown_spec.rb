# frozen_string_literal: true

RSpec.describe "A profile shown by Profiler::Middleware" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { <<~RUBY }
    require "fileutils"
    require "zlib"
    ENV["RACK_ENV"] = "development"
    ENV.delete("RAILS_ENV")
    OUT = #{in_box("profiles").inspect}
    CALLS = []
    APP = ->(env) { CALLS << env["QUERY_STRING"]; burn(60); [200, { "a" => "b" }, ["app"]] }
    def middleware(**options) = Profiler::Middleware.new(APP, out: OUT, **options)
    def get(app, query, method: "GET", **env) = app.call({ "REQUEST_METHOD" => method, "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => query }.merge(env.transform_keys(&:to_s)))
    # The data of a page is its profile.
    def shows?(response) = Zlib.gunzip(response[2][0][/id="profile">([^<]+)/, 1].unpack1("m")).include?("Object#burn")
  RUBY

  it "is a page in place of the app's response, by name or as last" do
    shown = run_json(<<~RUBY)
      app = middleware
      id = get(app, "profile=cpu")[1]["x-profiler-result"]
      status, headers, body = response = get(app, "a=1&profile=\#{id}")
      last = shows?(get(app, "profile=last"))
      calls = CALLS.dup
      other = get(middleware, "profile=cpu")[1]["x-profiler-result"]
      print_json(status: status, headers: headers, bytes: body[0].bytesize, shows: [shows?(response), last], calls: calls, ids: [id, other],
                 newest: get(app, "profile=last")[2] == get(app, "profile=\#{other}")[2])
    RUBY
    expect(shown).to include(status: 200, shows: [true, true], calls: ["profile=cpu"], ids: shown[:ids].sort, newest: true)
    expect(shown[:headers].transform_keys(&:to_s)).to include(
      "content-length" => shown[:bytes].to_s, "content-type" => "text/html; charset=utf-8", "cache-control" => "no-store", "x-content-type-options" => "nosniff",
      "content-security-policy" => "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; sandbox allow-scripts allow-downloads"
    )
  end

  it "is waited for while it is written, so that last is never stale" do
    expect(run_json(<<~RUBY)).to eq(shows: [true, true], ids: 2, same: [true, true])
      Profiler::Middleware # which loads what it needs
      class Slow < Profiler::Directory
        def store(result) = (sleep 0.3; super)
      end
      app = Profiler::Middleware.new(->(env) { burn(60); [200, {}, ["app"].each] }, out: Slow.new(OUT))
      pictures = Array.new(2) do
        _status, headers, body = get(app, "profile=cpu")
        closing = Thread.new { body.close }
        last = get(app, "profile=last")
        closing.join
        [headers["x-profiler-result"], last]
      end
      print_json(shows: pictures.map { |_id, last| shows?(last) }, ids: pictures.map(&:first).uniq.size,
                 same: pictures.map { |id, last| get(app, "profile=\#{id}")[2] == last[2] })
    RUBY
  end

  it "is not visible without permission, and only the middleware's own profiles are" do
    seen = run_json(<<~RUBY)
      refusal = ->(app, query = "profile=last", **env) { get(app, query, **env)[1]["x-profiler-refused"] }
      open = middleware
      none = get(open, "profile=last")[1]
      id = get(open, "profile=cpu")[1]["x-profiler-result"]
      token = "a token that nobody guesses"
      closed = middleware(token: token)
      denied = [id, "last"].map { |it| get(closed, "profile=\#{it}").drop(1) }
      permitted = shows?(get(closed, "profile=last", HTTP_X_PROFILER_TOKEN: token))
      FileUtils.cp("\#{OUT}/\#{id}", "\#{OUT}/../20261122T003012.123-4711-9f86d081.pb.gz")
      FileUtils.cp("\#{OUT}/\#{id}", "\#{OUT}/plain.pb.gz")
      others = ["20261122T003012.123-4711-9f86d081.pb.gz", "20261122T003012.123-4711-9f86d081./../../x", "../20261122T003012.123-4711-9f86d081.pb.gz", "plain.pb.gz",
                "\#{id}%0a", "..%2f\#{id}"].map { |it| get(open, "profile=\#{it}")[2] }
      post = refusal[open, method: "POST"]
      File.write("\#{OUT}/\#{id}", "not a profile")
      damaged = refusal[open, "profile=\#{id}"]
      File.chmod(0777, OUT)
      print_json(none: none, denied: denied, permitted: permitted, others: others, post: post, damaged: damaged, writable: refusal[open].sub(OUT, "OUT"),
                 elsewhere: refusal[Profiler::Middleware.new(APP, out: ->(_) {})])
    RUBY
    expect(seen).to eq(
      none: { a: "b", "x-profiler-refused": "no such profile" }, denied: [[{ a: "b" }, ["app"]]] * 2, permitted: true, others: [["app"]] * 6,
      post: '"last" is not a mode (allowed: cpu, wall, allocations, object, heap, retained)', damaged: "profiles in this format cannot be shown",
      writable: "out: OUT is writable by others", elsewhere: "no such profile"
    )
  end
end
