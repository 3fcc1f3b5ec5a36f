# frozen_string_literal: true

# A shop that keeps account of its CPU time, behind a middleware. Needs the helpers.
ENV["RACK_ENV"] = "development" unless ENV["RACK_ENV"]
$used = 0 # CPU time in the shop by its own clock
def account(milliseconds) = $used += cpu_of { burn(milliseconds) }

class Shop
  def self.serve = account(15)
  def self.send_part = account(15)
  def self.tidy = account(15)
end

APP = ->(env) { Shop.serve; [200, { "a" => "b" }.freeze, ["x"]] }
RESULTS, USED = [], [] # and what was used when a result came
def middleware(app = APP, **options) = Profiler::Middleware.new(app, out: ->(it) { RESULTS << it; USED << $used }, **options)
def get(app, query = "", **env)
  app.call({ "REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => query }.merge(env.transform_keys(&:to_s)))
end

def names(result) = result.profile.samples.flat_map { |it| it.frames.map(&:name) }.uniq.grep(/Shop/).sort
# How much more the first result has than the shop had used by then, in milliseconds.
def more_ms = (RESULTS.first.profile.samples.sum(&:cpu) - USED.first) / 1e6
