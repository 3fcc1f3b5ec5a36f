# frozen_string_literal: true

# A middleware in development that keeps its profiles in OUT, and shows them. Needs the helpers.
require "fileutils"
require "zlib"

ENV["RACK_ENV"] = "development"
ENV.delete("RAILS_ENV")
OUT = ENV.fetch("OUT")
CALLS = []
APP = ->(env) { CALLS << env["QUERY_STRING"]; burn(60); [200, { "a" => "b" }, ["app"]] }
def middleware(**options) = Profiler::Middleware.new(APP, out: OUT, **options)

def get(app, query, method: "GET", **env)
  app.call({ "REQUEST_METHOD" => method, "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => query }.merge(env.transform_keys(&:to_s)))
end

# The data of a page is its profile.
def shows?(response) = Zlib.gunzip(response[2][0][/id="profile">([^<]+)/, 1].unpack1("m")).include?("Object#burn")
