# frozen_string_literal: true

# Two minutes of requests, as a continuous session keeps them: profiles/.

require "profiler"
require "rack"

app = Profiler::Middleware.new(lambda do |env|
  env["PATH_INFO"] == "/orders" ? Array.new(80_000) { |number| -number }.sort_by(&:abs) : Array.new(20_000, &:to_s)
  [200, {}, ["hello\n"]]
end)
Dir.mkdir("profiles")
2.times do |minute|
  profile = Profiler.run do
    %w[/orders /users].each { |path| 10.times { Rack::MockRequest.new(app).get(path) } }
  end
  profile.save("profiles/20261127T030#{minute}00.123-4711-9f86d081.pb.gz")
end
