# frozen_string_literal: true

# A Rails app for bench/rack.rb: one request reads twenty rows and renders them. The first part of the path selects the middleware before it.
$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "json"
require "fileutils"
require "logger"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"

box = ENV.fetch("BOX")
FileUtils.mkdir_p(File.join(box, "config"))
database = { adapter: "sqlite3", database: File.join(box, "shop.sqlite3"), pool: 8 }.to_json
File.write(File.join(box, "config/database.yml"), %({"production": #{database}}\n))

class BenchApp < Rails::Application
  config.root = ENV.fetch("BOX")
  config.eager_load = true
  config.logger = Logger.new(IO::NULL)
  config.secret_key_base = "x" * 64
end
BenchApp.initialize!

ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define { create_table(:orders, force: true) { |t| t.string :name } }
class Order < ActiveRecord::Base; end
100.times { |number| Order.create!(name: "order #{number}") }

class OrdersController < ActionController::Base
  PAGE = "<ul><% @orders.each do |order| %><li><%= link_to order.name, \"/orders/\#{order.id}\" %></li><% end %></ul>"

  def show
    @orders = Order.where("id > ?", params[:id].to_i).order(:name).limit(20).to_a
    render inline: PAGE
  end
end
BenchApp.routes.draw { get "/orders/:id" => "orders#show" }

require "profiler"
require "stackprof"

# One process for all, so that they differ in nothing else.
%w[none none_again].each { |name| map("/#{name}") { run BenchApp } }
{ "idle" => {}, "slower_than" => { slower_than: 10 }, "slower_than_cpu" => { slower_than: 10, mode: :cpu } }.each do |name, options|
  map("/#{name}") do
    use Profiler::Middleware, token: "x" * 20, **options
    run BenchApp
  end
end
map("/stackprof") do
  use StackProf::Middleware, enabled: true, mode: :cpu, interval: 10_000, path: ENV.fetch("BOX"), save_every: 1_000_000
  run BenchApp
end
