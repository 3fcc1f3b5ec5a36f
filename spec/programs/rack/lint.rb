# frozen_string_literal: true

# Profiles a page between Rack::Lint, Rack::Deflater and Rack::ETag. Prints whether the page, the profile, the list and a comparison
# are what they should be.
require_relative "../helpers"
require_relative "pages"
require "rack"
require "zlib"

OUT = ENV.fetch("OUT")
inner = Rack::Lint.new(->(_env) { burn(20); [200, { "content-type" => "text/html" }, [PAGE]] })
profiled = Rack::Lint.new(Profiler::Middleware.new(inner, out: OUT))
app = Rack::Lint.new(Rack::Deflater.new(Rack::ConditionalGet.new(Rack::ETag.new(profiled))))
fetch = lambda do |query|
  env = Rack::MockRequest.env_for("/?#{query}", "REMOTE_ADDR" => "127.0.0.1", "HTTP_HOST" => "localhost", "SERVER_PROTOCOL" => "HTTP/1.1",
                                  "HTTP_SEC_FETCH_DEST" => "document", "HTTP_ACCEPT_ENCODING" => "gzip")
  _, headers, body = app.call(env)
  packed = +""
  body.each { |part| packed << part }
  body.close
  headers["Content-Encoding"] || headers["content-encoding"] ? Zlib.gunzip(packed) : packed
end
page = fetch["profile=cpu"]
id = page[/profile=([^"]+)"/, 1]
print_json([page.delete_prefix(PAGE).include?("<a href="), fetch["profile=#{id}"].include?('id="profile"'),
            fetch["profile=list"].include?(id), fetch["profile=compare&before=#{id}&after=#{id}"].include?('id="profile-1"')])
