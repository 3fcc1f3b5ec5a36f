# frozen_string_literal: true

# Requests that wait, fail and are routed, and how many a profile counted. Needs the helpers.
require "profiler/sidekiq"

APP = lambda do |env|
  sleep(env["seconds"]) if env["seconds"]
  raise IOError, "on purpose" if env["raises"]
  throw :away if env["throws"]
  env["sinatra.route"] = env["route"] if env["route"]
  [env["status"] || 200, {}, ["x"]]
end
def middleware(app = APP, **options) = Profiler::Middleware.new(app, **options)

def get(app, path, **env)
  app.call({ "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => "" }.merge(env.transform_keys(&:to_s)))
end

# Count, and mean and largest in whole milliseconds, of each value.
def requests(profile, label = "endpoint")
  profile.by(label, limit: 0).select { |row| row[:count] }.to_h do |row|
    [row[:value], [row[:count], row[:mean] / 1_000_000, row[:largest] / 1_000_000]]
  end
rescue ArgumentError
  {}
end
