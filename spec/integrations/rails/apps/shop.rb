# frozen_string_literal: true

# A Rails app in one file, and a database. BOX is its directory.
$LOAD_PATH.unshift(File.expand_path("../../../../lib", __dir__))
ENV["RAILS_ENV"] ||= "development"
require "fileutils"
require "json"
require "logger" # which Rails 6.1 forgets
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "active_job/railtie"
require "profiler/rails"
require_relative "work"

FileUtils.mkdir_p(File.join(ENV.fetch("BOX"), "config"))
database = { adapter: "sqlite3", database: File.join(ENV.fetch("BOX"), "shop.sqlite3") }.to_json
File.write(File.join(ENV.fetch("BOX"), "config/database.yml"), %({"development": #{database}, "production": #{database}}\n))

class ShopApp < Rails::Application
  config.root = ENV.fetch("BOX")
  config.eager_load = true
  config.logger = Logger.new(IO::NULL)
  config.secret_key_base = "x" * 64
  config.consider_all_requests_local = false
  config.hosts.clear if config.respond_to?(:hosts)
  config.cache_store = :memory_store
  config.active_job.queue_adapter = :inline
  config.active_support.deprecation = :silence
  config.action_controller.perform_caching = true
  config.profiler.interval = 500
  config.profiler.rate = 1_000
end

ShopApp.initialize!
class ApplicationJob < ActiveJob::Base; end

class PlainJob < ApplicationJob
  def perform = Work.burn(30)
end

class ImportJob < ApplicationJob
  profiled mode: :cpu, interval: 500
  def perform = Work.burn(30)
end

ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define { create_table(:orders) { |t| t.string :name } }
class Order < ActiveRecord::Base; end
Order.create!(name: "secret name")

class OrdersController < ActionController::Base
  def index
    numbers = (1..25).map { |number| Order.where(name: "secret #{number}").count } # one query for each
    render plain: numbers.sum.to_s
  end

  def show
    Work.burn
    @order = Rails.cache.fetch("secret key") { Order.where(name: "secret name").first }
    render inline: "<%= @order.name %><% Work.burn %>"
  end

  def gone = raise(ActiveRecord::RecordNotFound)
  def broken = raise("on purpose")

  def parts
    self.response_body = Enumerator.new { |out| 3.times { Work.burn; out << "part\n" } }
  end
end

class LiveController < ActionController::Base
  include ActionController::Live

  def index
    3.times { Work.burn; response.stream.write("live\n") }
  ensure
    response.stream.close
  end
end

ShopApp.routes.draw do
  get "/orders" => "orders#index"
  get "/orders/:id" => "orders#show"
  get "/gone" => "orders#gone"
  get "/broken" => "orders#broken"
  get "/parts" => "orders#parts"
  get "/live" => "live#index"
end
