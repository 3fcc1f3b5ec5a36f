# frozen_string_literal: true

# A Rails app with a session. PERMIT is the Ruby of its +permit+, PREPARE is run before the app is created. BOX is its
# directory.
$LOAD_PATH.unshift(File.expand_path("../../../../lib", __dir__))
ENV["RAILS_ENV"] = "production"
require "json"
require "logger" # which Rails 6.1 forgets
require "rails"
require "action_controller/railtie"
require "profiler/rails"
require_relative "work"

class MembersApp < Rails::Application
  config.root = ENV.fetch("BOX")
  config.eager_load = true
  config.logger = Logger.new(IO::NULL)
  config.secret_key_base = "x" * 64
  config.consider_all_requests_local = false
  config.hosts.clear if config.respond_to?(:hosts)
  config.active_support.deprecation = :silence
  config.profiler.rate = 1_000
  config.profiler.permit = eval(ENV["PERMIT"]) if ENV["PERMIT"]
  eval(ENV["PREPARE"]) if ENV["PREPARE"]
end

class PagesController < ActionController::Base
  def login
    session[:role] = params[:role]
    render plain: "welcome"
  end

  # Knows nothing of sessions.
  def page
    Work.burn
    render plain: "page"
  end

  def count
    session[:count] = session[:count].to_i + 1
    render plain: session[:count].to_s
  end

  def parts
    self.response_body = Enumerator.new { |out| 3.times { Work.burn; out << "part\n" } }
  end

  # Streamed, so that its name is sent before it is complete.
  def slow
    sleep 1.1
    parts
  end

  def echo = render(plain: params[:said].to_s)
  def broken = Work.burn || raise("on purpose")
end

MembersApp.initialize!
MembersApp.routes.draw do
  %w[login page count parts slow broken].each { |name| get "/#{name}" => "pages##{name}" }
  post "/echo" => "pages#echo"
end

# A browser: keeps the cookies that it is sent.
class Browser
  def initialize(cookie = nil)
    @cookie = cookie
  end

  # Status, headers by their lower-case names, and text. Without what differs in each request.
  def get(path, **options)
    env = Rack::MockRequest.env_for("http://localhost#{path}", options.merge("REMOTE_ADDR" => "127.0.0.1"))
    env["HTTP_COOKIE"] = @cookie if @cookie
    status, headers, body = MembersApp.call(env)
    text = +""
    body.each { |part| text << part }
    headers = headers.to_h.transform_keys(&:downcase).reject { |name, _| %w[x-request-id x-runtime].include?(name) }
    @cookie = Array(headers["set-cookie"]).join("\n")[/[^;]+/] || @cookie
    [status, headers, text]
  ensure
    body.close if body.respond_to?(:close)
  end
end

def stored = Dir["#{Rails.root}/tmp/profiler/*"]
def samples(headers) = Profiler::Profile.load(File.join("#{Rails.root}/tmp/profiler", headers.fetch("x-profiler-result"))).samples
def stacks(headers) = samples(headers).map { |it| it.frames.map(&:name) }
def labels(headers) = samples(headers).map { |it| it.labels.values_at("status", "endpoint") }.uniq
