# frozen_string_literal: true

# A middleware that permits every request, and what clients get of it. Needs the helpers.
require "stringio"

APP = ->(_env) { [200, { "a" => "b" }, ["x"]] }
RESULTS = []
def middleware(app = APP, **options)
  Profiler::Middleware.new(app, permit: ->(_env) { true }, rate: 1_000, out: ->(result) { RESULTS << result }, **options)
end

def get(app, query = "profile=cpu", **env)
  env = env.transform_keys { |key| key.is_a?(Symbol) ? key.to_s : key }
  app.call({ "REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "PATH_INFO" => "/", "QUERY_STRING" => query }.merge(env))
end

# Returns the status, the refusal or whether there is a profile, and the body.
def kept(app, query = "profile=cpu", **env)
  status, headers, body = get(app, query, **env)
  [status, headers["x-profiler-refused"] || headers.key?("x-profiler-result"), body]
end
