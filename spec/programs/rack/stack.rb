# frozen_string_literal: true

# A shop behind a middleware outside and one inside of the session's. Needs the helpers.
require "stringio"

RESULTS = []

class Shop
  def self.serve = burn(80)
  def self.send_part = burn(80)
end

def stack(slower_than: 0, out: ->(it) { RESULTS << it }, permit: ->(env) { env.dig("rack.session", "admin") }, **options, &app)
  inside = Profiler::Middleware::OnDemand.new(app)
  between = ->(env) { inside.call(env.merge("rack.session" => { "admin" => env["HTTP_COOKIE"] == "admin" })) }
  Profiler::Middleware.new(between, permit: permit, permit_inside: true, slower_than: slower_than, rate: 10_000, interval: 1_000,
                           out: out, **options)
end

def get(app, cookie = "admin", query = "profile=cpu", **env)
  app.call({ "REQUEST_METHOD" => "GET", "QUERY_STRING" => query, "HTTP_COOKIE" => cookie }.merge(env.transform_keys(&:to_s)))
end

def names(result) = result.profile.samples.flat_map { |it| it.frames.map(&:name) }.uniq.grep(/Shop/).sort
def found = RESULTS.map { |it| [it.reason.to_s, names(it)] }.tap { RESULTS.clear }
