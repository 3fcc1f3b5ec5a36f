# frozen_string_literal: true

require_relative "../../support/tools"

RSpec.describe "A response with a requested profile, in development" do
  include_context "with a program"
  include_context "with a box"
  include Tools

  let(:prelude) { "OUT = #{in_box("profiles").inspect}\n#{require_program("rack/pages")}" }

  it "ends with a link to its profile in a browser, and is said in the log" do
    seen = run_json(<<~'RUBY')
      _, headers, body = get(middleware(HTML.merge("content-length" => PAGE.bytesize.to_s, "etag" => 'W/"1"', "last-modified" => "today")))
      page = text(body)
      id = headers["x-profiler-result"]
      path, query = page[/<a href="([^"]+)"/, 1].split("?")
      print_json(headers: headers, bytes: page.bytesize, begins: page.start_with?(PAGE), path: path, query: query, id: id, log: LOG.string, shown: get(middleware, path, query: query)[2][0][0, 15])
    RUBY
    expect(seen).to include(begins: true, path: "/orders/7", query: "profile=#{seen[:id]}", shown: "<!DOCTYPE html>",
                            log: "[profiler] profiled GET /orders/7: http://localhost:9292/orders/7?profile=#{seen[:id]} shows it\n")
    expect(seen[:headers].transform_keys(&:to_s)).to eq("content-type" => "text/html; charset=utf-8", "content-length" => seen[:bytes].to_s, "cache-control" => "no-store", "x-profiler-result" => seen[:id])
  end

  it "has its style only if that can violate no content security policy" do
    seen = run_json(<<~'RUBY')
      policies = [{}, { "content-security-policy" => "default-src 'self'" }, { "Content-Security-Policy-Report-Only" => "default-src 'self'" }]
      print_json(policies.map { |it| html = added(get(middleware(HTML.merge(it)))); [html.include?("style="), html.include?("<a href="), html.include?("<script")] })
    RUBY
    expect(seen).to eq([[true, true, false], [false, true, false], [false, true, false]])
  end

  it "does not change a response that is not a page in a browser, or to which nothing can be added" do
    expect(run_json(<<~'RUBY')).to eq(others: [""] * 4, fixed: [""] * 7, file: "", streamed: true, none: "", production: "")
      fixed = [%w[content-type application/json], %w[content-type text/html;charset=UTF-16], %w[content-encoding gzip], %w[Transfer-Encoding chunked], ["content-range", "bytes 0-1/2"],
               %w[content-disposition attachment], ["content-type", nil]]
      file = Class.new { def each = yield(PAGE); def to_path = "/etc/hostname" }
      parts = Class.new { def each = PAGE.each_char { |it| yield it }; def close = $closed = true }
      response = get(middleware(HTML, parts.new))
      streamed = added(response).include?("<a href=")
      response[2].close
      others = [get(middleware, HTTP_SEC_FETCH_DEST: "empty"), get(middleware, HTTP_SEC_FETCH_DEST: nil), get(middleware, REQUEST_METHOD: "HEAD"), get(middleware, query: "")]
      seen = { others: others.map { |it| added(it) }, fixed: fixed.map { |name, value| added(get(middleware(HTML.merge(name => value)))) },
               file: added(get(middleware(HTML, file.new))), streamed: streamed && $closed, none: added(get(middleware(parameter: nil), HTTP_X_PROFILE: "cpu")) }
      ENV["RACK_ENV"] = "production"
      print_json(**seen, production: added(get(middleware(permit: ->(_env) { true }))))
    RUBY
  end

  it "has paths of clients as text, on this host" do
    seen = run_json(<<~'RUBY')
      paths = ["//evil.example/x", "/\"><script>x</script>", "/a\n[profiler] forged", "/caf\u00e9", ""]
      print_json(paths.map { |path| added(get(middleware, path))[/<a href="([^"]*)"/, 1].split("?")[0] }.push(LOG.string.lines.size))
    RUBY
    expect(seen).to eq(["/evil.example/x", "/%22%3E%3Cscript%3Ex%3C/script%3E", "/a%0A%5Bprofiler%5D%20forged", "/caf%C3%A9", "/", 5])
  end

  it "is complete if a logger raises, and logged by Rails if there is Rails" do
    seen = run_json(<<~'RUBY', err: eq("[profiler] a line about a profile was not logged: RuntimeError: no log\n"))
      lines = []
      logger = Object.new
      logger.define_singleton_method(:info) { |line| lines << line }
      broken = Object.new
      def broken.info(_line) = raise("no log")
      [logger, broken].each { |it| lines << added(get(middleware, "action_dispatch.logger": it)).include?("<a href=") }
      print_json(lines.map { |it| it.is_a?(String) ? it[0, 23] : it })
    RUBY
    expect(seen).to eq(["[profiler] profiled GET", true, true])
  end

  it "passes Rack::Lint, Rack::Deflater and Rack::ETag, as do the pages of profiles" do
    need_library "rack"
    seen = program_json("rack/lint", env: { "OUT" => in_box("profiles") })
    expect(seen).to eq([true] * 4)
  end
end
