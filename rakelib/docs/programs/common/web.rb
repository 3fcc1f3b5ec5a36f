# frozen_string_literal: true

# The parts of config.ru and of the routes of Rails, each used once.

require "rack"

Upload = Struct.new(:id, :bytes) { def self.later(id, bytes) = id && bytes or raise("no upload") }

def admin?(_env) = true

# A request for a profile, from this machine.
def served(app, path = "/orders?profile=cpu")
  headers = { "REMOTE_ADDR" => "127.0.0.1", "HTTP_HOST" => "localhost", "HTTP_X_PROFILER_TOKEN" => ENV.fetch("PROFILER_TOKEN") }
  response = Rack::MockRequest.new(app).get(path, headers)
  response.ok? or raise "#{path}: #{response.status} #{response.body}"
  response
end

def use(middleware, **options)
  served(middleware.new(App, **options))["x-profiler-result"] or raise "the request has no profile"
end

def map(path, &block)
  served(Rack::Builder.new { map(path, &block) }.to_app, "#{path}/profile?seconds=1")
end

def mount(apps)
  require "action_controller"
  ActionDispatch::Routing::RouteSet.new.draw { mount(apps) }
end
