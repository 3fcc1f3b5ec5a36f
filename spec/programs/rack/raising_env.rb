# frozen_string_literal: true

# Serves requests whose env raises for keys that it does not have. Prints what middlewares and endpoints raised.
require_relative "../helpers"
require_relative "permitted"
require "profiler/pprof"

raising = lambda do |more = {}|
  Hash.new { |_, key| raise KeyError, key.to_s }.merge!({ "REQUEST_METHOD" => "GET", "QUERY_STRING" => "profile=cpu" }.merge(more))
end
inner = Profiler::Middleware::OnDemand.new(APP)
apps = [middleware, middleware(sample_rate: 1.0), middleware(slower_than: 0.0), middleware(inner, permit_inside: true),
        Profiler::Middleware.new(APP, token: "x" * 16), Profiler::Pprof.new(APP, token: "x" * 16),
        Profiler::Pprof.new(APP, permit: ->(_env) { false }), Profiler::Pprof.new(APP)]
envs = [{}, { "QUERY_STRING" => "profile=last" }, { "QUERY_STRING" => "profile=cpu;a=1" },
        { "PATH_INFO" => "/debug/pprof/metrics", "REMOTE_ADDR" => "127.0.0.1" }, { "HTTP_SEC_FETCH_DEST" => "document" }]
answers = [nil, "development"].flat_map do |environment|
  ENV["RACK_ENV"] = environment
  ENV["RAILS_ENV"] = nil
  [false, true].flat_map do |covered|
    Profiler.start if covered
    apps.product(envs).map { |app, env| error { app.call(raising[env]) } }.tap { Profiler.stop if covered }
  end
end
whole = error { Profiler::Pprof.new(permit: ->(_env) { true }).call(raising["PATH_INFO" => "/metrics"]) }
print_json(answers: answers.uniq, whole: whole, running: open_sessions)
