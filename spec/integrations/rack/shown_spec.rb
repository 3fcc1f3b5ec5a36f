# frozen_string_literal: true

RSpec.describe "A profile shown by Profiler::Middleware" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { "ENV['OUT'] = #{in_box("profiles").inspect}\n#{require_program("rack/profiles")}" }

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
    seen = program_json("rack/not_shown", env: { "OUT" => in_box("profiles") })
    expect(seen).to eq(
      none: { a: "b", "x-profiler-refused": "no such profile" }, denied: [[{ a: "b" }, ["app"]]] * 2, permitted: true, others: [["app"]] * 6,
      post: '"last" is not a mode (allowed: cpu, wall, allocations, object, heap, retained, native)', damaged: "profiles in this format cannot be shown",
      writable: "out: OUT is writable by others", elsewhere: "no such profile"
    )
  end
end
