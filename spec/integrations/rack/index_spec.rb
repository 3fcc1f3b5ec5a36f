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
    def rows(page) = page.scan(%r{<tr><td.*?</tr>}m)
    def ids(page) = page.scan(/href="[?]profile=([^"]+[.]pb[.]gz)"/).flatten
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
      "content-security-policy" => "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    expect(seen[:page].scan(/href="\?profile=([^"]+\.gz)"/).flatten).to eq(seen[:ids])
    newest, slow = rows(seen[:page])
    expect(newest).to match([/\A\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\z/, "GET /none", "404", /\A(\d+ ms|\d+\.\d\d s)\z/, "requested", /\A\d+\.\d% .*Object#burn/, "", ""])
    finding = seen[:finding]
    expect(slow.drop(1)).to match(["GET /orders/:id", "200", /\A(\d+ ms|\d+\.\d\d s)\z/, "slow", /\A#{format("%.1f%%", finding[:share] * 100)} #{Regexp.escape(finding[:text])}#{" +#{finding[:path]}:#{finding[:line]}" if finding[:path]}\z/, "", ""])
  end

  it "is in the order of a column, and has the rows of one endpoint or reason" do
    seen = run_json(<<~RUBY)
      app = middleware(slower_than: 0.05)
      %w[/b /a /b].each { |path| get(app, "", path) }
      get(app, "profile=cpu", "/none")
      page = ->(query) { get(app, "profile=list&\#{query}")[2].join }
      work = ->(query) { rows(page[query]).map { |row| row[/class="work">([^<]*)/, 1] } }
      all = ids(page[""])
      print_json(newest: all == all.sort.reverse, work: work["sort=work"], seconds: page["sort=seconds"].scan(/<meter [^>]*value="([^"]+)"/).flatten.map(&:to_f),
                 endpoint: work["work=GET+%2Fb"], reason: work["reason=requested"], both: work["work=GET+%2Fa&reason=requested"], text: page["work=GET+%2Fb"][%r{<p>(.*?)</p>}, 1],
                 options: page["work=GET+%2Fb"][%r{<select name="work">.*?</select>}], sorted: page["sort=work&work=GET+%2Fb"].scan(/<th[^>]*aria-sort[^>]*><a href="([^"]+)"/).flatten,
                 odd: %w[%zz=1 sort=%ff work[]=1 sort=nonsense].map { |query| rows(page[query]).size })
    RUBY
    expect(seen).to include(newest: true, work: ["GET /a", "GET /b", "GET /b", "GET /none"], seconds: seen[:seconds].sort.reverse, endpoint: ["GET /b"] * 2, reason: ["GET /none"], both: [],
                            text: "4 profiles, the newest first. 2 match.", sorted: ["?profile=list&amp;sort=work&amp;work=GET+%2Fb"], odd: [4] * 4)
    expect(seen[:options]).to eq('<select name="work"><option value="">all</option><option>GET /a</option><option selected>GET /b</option><option>GET /none</option></select>')
  end

  it "leads to the comparison of two profiles, or says why there is none" do
    seen = run_json(<<~RUBY)
      app = middleware
      before, after = Array.new(2) { get(app, "profile=cpu", "/orders/\#{_1}")[1]["x-profiler-result"] }
      objects = get(app, "profile=allocations", "/orders/3")[1]["x-profiler-result"]
      _, headers, page = get(app, "profile=compare&before=\#{before}&after=\#{after}")
      page[0].force_encoding("UTF-8") # a body is bytes
      said = ->(query) { get(app, "profile=compare&\#{query}")[2][0][%r{<p class="problem"[^>]*>(.*?)</p>}, 1] }
      print_json(page: page[0][/<script type="application.json" id="facts">([^<]*)/, 1], policy: headers["content-security-policy"], ids: [before, after],
                 none: said[""], one: said["before=\#{before}"], gone: said["before=\#{before}&after=20270101T000119.000-1-00000000.pb.gz"],
                 outside: said["before=\#{before}&after=../../etc/passwd"], kinds: said["before=\#{before}&after=\#{objects}"],
                 checked: get(app, "profile=compare&before=\#{before}")[2][0].scan(/value="([^"]+)" required checked/).flatten)
    RUBY
    runs = JSON.parse(seen[:page])["comparison"]["runs"].to_h { |run| [run["side"], run["name"]] }
    expect(runs).to eq("before" => seen[:ids][0], "after" => seen[:ids][1])
    expect(JSON.parse(seen[:page])["title"]).to match(%r{\AGET /orders/:id, \d+\.\d{3} s \u2192 GET /orders/:id, \d+\.\d{3} s\z})
    expect(seen[:policy]).to include("sandbox allow-scripts")
    choose = "Choose one profile before and one after."
    expect(seen).to include(none: choose, one: choose, gone: "20270101T000119.000-1-00000000.pb.gz is no longer kept.", outside: "../../etc/passwd is no longer kept.", checked: [seen[:ids][0]])
    expect(seen[:kinds]).to start_with("These cannot be compared: ")
  end

  it "is not visible without permission, and only to GET" do
    expect(run_json(<<~RUBY)).to eq(denied: [{}, ["app"]], post: '"list" is not a mode (allowed: cpu, wall, allocations, object, heap, retained, native)', permitted: 1)
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
      list = -> { get(app, "profile=list")[2][0] }
      first = list.call
      first = list.call while first.include?("not read yet") # on a busy machine
      pages = [first, list.call]
      print_json(reads: reads, same: pages.uniq.size, rows: pages[0].scan("<tr><td").size, text: pages[0][/<p>(.*?)<\/p>/, 1], first: ids(pages[0])[0])
    RUBY
    expect(seen).to eq(reads: 100, same: 1, rows: 100, text: "121 profiles, the newest first. The newest 100 are shown.", first: "20270101T000119.000-1-00000000.pb.gz")
  end

  it "is refused with a reason if the store cannot list its profiles, and is shown if it can" do
    seen = run_json(<<~RUBY)
      kept = {}
      store = Object.new
      store.define_singleton_method(:store) { |result| kept[result.id] = result.profile }
      store.define_singleton_method(:fetch) { |name| kept[name || kept.keys.last] }
      app = Profiler::Middleware.new(APP, out: store)
      get(app, "profile=cpu", "/a")
      refused = get(app, "profile=list")[1]["x-profiler-refused"]
      store.define_singleton_method(:list) { kept.keys.reverse }
      print_json(refused: refused, none: get(middleware, "profile=list")[2][0][/<p>(.*?)<\\/p>/, 1], rows: get(app, "profile=list")[2][0].scan('class="work">GET /a').size)
    RUBY
    expect(seen).to eq(refused: "the profiles of this store cannot be listed", none: "None is kept so far.", rows: 1)
  end
end
