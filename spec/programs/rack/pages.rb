# frozen_string_literal: true

# Pages of an app behind a middleware, and what follows them. Needs the helpers, and OUT.
require "stringio"

ENV["RACK_ENV"] = "development"
ENV.delete("RAILS_ENV")
HTML = { "content-type" => "text/html; charset=utf-8" }.freeze
PAGE = "<html><body>orders</body></html>"
LOG = StringIO.new
def middleware(headers = HTML, body = [PAGE], **options)
  Profiler::Middleware.new(->(_env) { burn(20); [200, headers, body] }, out: OUT, **options)
end

def get(app, path = "/orders/7", query: "profile=cpu", **env)
  defaults = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query,
               "REMOTE_ADDR" => "127.0.0.1", "HTTP_HOST" => "localhost:9292", "rack.url_scheme" => "http", "rack.errors" => LOG,
               "HTTP_SEC_FETCH_DEST" => "document" }
  app.call(defaults.merge(env.transform_keys(&:to_s)))
end

def text(body) = [].tap { |parts| body.each { |part| parts << part } }.join
# Returns the part of a response that follows the app's page.
def added(response) = text(response[2]).delete_prefix(PAGE)
