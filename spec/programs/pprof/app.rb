# frozen_string_literal: true

# The endpoint of Go's pprof as an app of Rack, and requests to it. Needs the helpers.
TOKEN = "a token that nobody guesses"
BEARER = { HTTP_AUTHORIZATION: "Bearer #{TOKEN}" }.freeze
ENVS = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "/debug/pprof", "QUERY_STRING" => "", "REMOTE_ADDR" => "127.0.0.1",
         "HTTP_HOST" => "localhost:3000" }.freeze
def pprof(*app, **options) = Profiler::Pprof.new(*app, **options)
def get(app, path, query = "", **env) = app.call(ENVS.merge("PATH_INFO" => path, "QUERY_STRING" => query).merge(env.transform_keys(&:to_s)))
def profile(response) = Profiler.const_get(:Native).parse(response[2].join)
def open_now = [ObjectSpace.each_object(Profiler::Session).count(&:running?), Profiler.metrics[:profiler_sessions]]
