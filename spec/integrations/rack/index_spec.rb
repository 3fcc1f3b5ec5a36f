# frozen_string_literal: true

RSpec.describe "The list of profiles of Profiler::Middleware" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { <<~RUBY }
    require "fileutils"
    ENV["RACK_ENV"] = "development"
    ENV.delete("RAILS_ENV")
    OUT = #{in_box("profiles").inspect}
    APP = ->(env) { burn(60); [env["PATH_INFO"] == "/none" ? 404 : 200, {}, ["app"]] }
    def middleware(**options) = Profiler::Middleware.new(APP, out: OUT, **options)
    def get(app, query, path = "/", method: "GET", **env)
      app.call({ "REQUEST_METHOD" => method, "REMOTE_ADDR" => "127.0.0.1", "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query }.merge(env.transform_keys(&:to_s)))
    end
  RUBY

  # The cells of the rows, as text.
  def rows(page)
    page.scan(/<tr><td.*?<\/tr>/m).map { |row| row.split("<td").drop(1).map { |cell| cell.sub(/\A[^>]*>/, "").gsub(/<[^>]*>/, " ").strip } }
  end

  it "has a row for each, the newest first, with a link to its page" do
    seen = run_json(<<~RUBY)
      app = middleware(slower_than: 0.05)
      slow = get(app, "", "/orders/7")[1]["x-profiler-result"]
      sleep 0.01
      requested = get(app, "profile=cpu", "/none")[1]["x-profiler-result"]
      status, headers, body = get(app, "profile=list")
      print_json(status: status, headers: headers, page: body.join, ids: [requested, slow], first: get(app, "profile=\#{requested}")[2][0][0, 15],
                 finding: Profiler::Profile.load("\#{OUT}/\#{slow}").findings[0])
    RUBY
    expect(seen).to include(status: 200, first: "<!DOCTYPE html>")
    expect(seen[:headers].transform_keys(&:to_s)).to include(
      "content-length" => seen[:page].bytesize.to_s, "cache-control" => "no-store", "x-content-type-options" => "nosniff",
      "content-security-policy" => "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    expect(seen[:page].scan(/href="\?profile=([^"]+)"/).flatten).to eq(seen[:ids])
    newest, slow = rows(seen[:page])
    expect(newest).to match([/\A\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\z/, "GET /none", "404", /\A0\.\d{3}\z/, "requested", /\A\d+\.\d % running .*Object#burn/])
    finding = seen[:finding]
    expect(slow.drop(1)).to match(["GET /orders/:id", "200", /\A0\.\d{3}\z/, "slow", /\A#{format("%.1f", finding[:share] * 100)} % #{Regexp.escape(finding[:text])}#{" +#{finding[:path]}:#{finding[:line]}" if finding[:path]}\z/])
  end

  it "is not visible without permission, and to GET alone" do
    expect(run_json(<<~RUBY)).to eq(denied: [{}, ["app"]], post: '"list" is not a mode (allowed: cpu, wall, allocations, object, heap, retained)', permitted: 1)
      get(middleware, "profile=cpu")
      token = "a token that nobody guesses"
      closed = middleware(token: token)
      print_json(denied: get(closed, "profile=list").drop(1), 
                 post: get(middleware, "profile=list", method: "POST")[1]["x-profiler-refused"],
                 permitted: get(closed, "profile=list", HTTP_X_PROFILER_TOKEN: token)[2][0].scan("<tr><td").size)
    RUBY
  end

  it "has names, paths and labels as text, and lists none but its own files" do
    seen = run_json(<<~'RUBY')
      app = middleware(route: ->(env) { "</td><script>x</script>\u202e\"'&" })
      get(app, "profile=cpu", "/<img src=x onerror=y>")
      id = get(app, "profile=cpu", "/damaged")[1]["x-profiler-result"]
      File.write("#{OUT}/#{id}", "not a profile")
      FileUtils.cp(Dir["#{OUT}/*"][0], "#{OUT}/plain.pb.gz")
      Dir.mkdir("#{OUT}/20261122T003012.123-4711-9f86d081.pb.gz")
      %w[<b>.pb.gz 20261122T003012.123-4711-9f86d081.pb.gz.tmp].each { |name| File.write("#{OUT}/#{name}", "") }
      print_json(page: get(app, "profile=list")[2][0])
    RUBY
    expect(seen[:page].scan("<tr><td").size).to eq(3)
    expect(seen[:page]).not_to match(/<script|<img|<b>|plain/)
    expect(seen[:page]).to include("&lt;/td&gt;&lt;script&gt;x&lt;/script&gt;", "&quot;&#39;&amp;", "in a format that is not read here", "cannot be read")
  end

  it "has the newest hundred, and reads each once" do
    seen = run_json(<<~'RUBY')
      app = middleware(keep: 1_000)
      id = get(app, "profile=cpu")[1]["x-profiler-result"]
      120.times { |number| FileUtils.cp("#{OUT}/#{id}", "#{OUT}/#{format("20270101T%06d.000-1-00000000.pb.gz", number)}") }
      reads = 0
      TracePoint.new(:call) { reads += 1 if _1.method_id == :fetch && _1.self.is_a?(Profiler::Directory) }.enable
      pages = Array.new(2) { get(app, "profile=list")[2][0] }
      print_json(reads: reads, same: pages.uniq.size, rows: pages[0].scan("<tr><td").size, text: pages[0][/<p>(.*?)<\/p>/, 1], first: pages[0][/profile=([^"]+)"/, 1])
    RUBY
    expect(seen).to eq(reads: 100, same: 1, rows: 100, text: "121 profiles, the newest first. The newest 100 are shown.", first: "20270101T000119.000-1-00000000.pb.gz")
  end

  it "is refused with a reason where the store cannot list, and of a store that can" do
    seen = run_json(<<~RUBY)
      kept = {}
      store = Object.new
      store.define_singleton_method(:store) { |result| kept[result.id] = result.profile }
      store.define_singleton_method(:fetch) { |name| kept[name || kept.keys.last] }
      app = Profiler::Middleware.new(APP, out: store)
      get(app, "profile=cpu", "/a")
      refused = get(app, "profile=list")[1]["x-profiler-refused"]
      store.define_singleton_method(:list) { kept.keys.reverse }
      print_json(refused: refused, none: get(middleware, "profile=list")[2][0][/<p>(.*?)<\\/p>/, 1], rows: get(app, "profile=list")[2][0].scan("GET /a").size)
    RUBY
    expect(seen).to eq(refused: "the profiles of this store cannot be listed", none: "None is kept so far.", rows: 1)
  end
end
