# frozen_string_literal: true

# An app with a query for each row, which makes ten requests to each of two endpoints. It has no line for the profiler, but with
# WITH_GEM it requires the gem and wants no markers. With OLD_RAILS, the profiler does not find what Rails 6.0 does not have.

require "logger"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "rack/mock"
require "profiler/rails" if ENV["WITH_GEM"]

if ENV["OLD_RAILS"]
  ActiveSupport::Notifications.singleton_class.prepend(Module.new do
    def monotonic_subscribe(*) = caller_locations(1, 1).first.path.include?("/in_rails/") ? raise(NoMethodError, "monotonic_subscribe") : super
  end)
end

ENV["DATABASE_URL"] = "sqlite3::memory:"

class PlainApp < Rails::Application
  config.eager_load = false
  config.secret_key_base = "x" * 32
  config.hosts = nil
  config.logger = Logger.new(IO::NULL)
  config.profiler.markers = false if ENV["WITH_GEM"]
  routes.append { resources(:orders, only: %i[index show]) }
end
PlainApp.initialize!

ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:orders)
  create_table(:items) { |table| table.belongs_to(:order) }
end

class Item < ActiveRecord::Base; end

class Order < ActiveRecord::Base
  has_many :items
end

class OrdersController < ActionController::API
  def index = render(json: Order.all.map { |order| order.items.to_a.size })

  def show = render(json: Order.find(params[:id]))
end

30.times { Item.create!(order_id: Order.create!.id) }
%w[/orders /orders/3].each do |path|
  10.times { raise path unless PlainApp.call(Rack::MockRequest.env_for("http://localhost#{path}", { "REMOTE_ADDR" => "127.0.0.1" })).first == 200 }
end
