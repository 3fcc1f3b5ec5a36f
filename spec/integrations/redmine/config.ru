# frozen_string_literal: true

# Redmine as it is, with the profiler's Railtie: what its users would write into its Gemfile and an initializer.
$LOAD_PATH.unshift(ENV.fetch("PROFILER_LIB"))
require File.join(ENV.fetch("REDMINE"), "config/application")
require "profiler/rails"
RedmineApp::Application.config.profiler.tap do |it|
  it.permit = ->(env) { env["HTTP_X_MAY"] == "yes" }
  it.mode = %i[cpu wall]
  it.interval = 500
  it.out = ENV.fetch("OUT")
end
require File.join(ENV.fetch("REDMINE"), "config/environment")
if ENV["WINDOWS"] # with all objects, or many windows would have none
  Profiler.continuous(out: File.join(ENV["WINDOWS"], ENV.fetch("MODE").tr(",", " ")), mode: ENV.fetch("MODE").split(",").map(&:to_sym), period: 10, max_overhead: nil)
end

# Sent piece by piece, which nothing in Redmine is by itself.
class PartsController < ActionController::Base
  def index
    issues = Issue.order(:id).limit(200)
    self.response_body = Enumerator.new { |out| issues.each { |issue| out << "#{issue.id} #{Redmine::WikiFormatting.to_html("textile", issue.description)}\n" } }
  end

  def broken = raise("on purpose")
end
Rails.application.routes.prepend { get "/parts" => "parts#index"; get "/broken" => "parts#broken" }
Rails.application.reload_routes!

run Rails.application
