# frozen_string_literal: true

module Answers
  # Servers, each with a client that ends it after its last request.
  module Servers
    # Requests these paths, from a process without a profiler.
    CLIENT = <<~'RUBY'
      def drive(port, paths, times)
        code = 'require "net/http"; sleep 1.5; port, times, pid, *paths = ARGV
                times.to_i.times { paths.each { |path| Net::HTTP.get(URI("http://127.0.0.1:#{port}#{path}")) } }
                Process.kill(:TERM, pid.to_i)'
        Process.detach(spawn({ "RUBYOPT" => nil }, RbConfig.ruby, "-e", code, port.to_s, times.to_s, Process.pid.to_s, *paths))
      end
    RUBY

    SINATRA = <<~RUBY
      #{CLIENT}
      require "sinatra/base"
      require "sequel"
      DB = Sequel.sqlite("shop.db")
      DB.create_table(:items) { primary_key :id; Integer :order_id; String :name }
      DB[:items].multi_insert(Array.new(4_000) { |number| { order_id: number % 40, name: "item \#{number}" } })
      class Shop < Sinatra::Base
        disable :protection
        get("/orders") { (0...40).sum { |order| DB[:items].where(order_id: order).all.size }.to_s }
        get("/about") { "about" }
      end
      drive(9391, %w[/orders /about], 40)
      run Shop
    RUBY

    GRAPE = <<~RUBY
      #{CLIENT}
      require "grape"
      require "digest"
      class Prices < Grape::API
        format :json
        get(:prices) { { prices: (0...4_000).map { |number| Digest::SHA256.hexdigest(number.to_s) } } }
      end
      drive(9392, %w[/prices], 60)
      run Prices
    RUBY

    RAILS = <<~RUBY
      #{CLIENT}
      require "rails"
      require "active_record/railtie"
      require "action_controller/railtie"
      ENV["DATABASE_URL"] = "sqlite3:shop.sqlite3"
      class App < Rails::Application
        config.root = __dir__
        config.eager_load = false
        config.secret_key_base = "x" * 32
        config.hosts = nil
        config.logger = Logger.new(File::NULL)
        routes.append { resources(:orders, only: %i[index show]) }
      end
      App.initialize!
      ActiveRecord::Schema.verbose = false
      ActiveRecord::Schema.define { create_table(:orders); create_table(:items) { |table| table.belongs_to(:order); table.string(:name) } }
      class Item < ActiveRecord::Base; end
      class Order < ActiveRecord::Base; has_many :items; end
      Order.insert_all!(Array.new(30) { |number| { id: number + 1 } })
      Item.insert_all!(Array.new(600) { |number| { order_id: number % 30 + 1, name: "item \#{number}" } })
      class OrdersController < ActionController::API
        def index = render(json: Order.all.map { |order| order.items.to_a.size })
        def show = render(json: Order.find(params[:id]))
      end
      drive(9393, %w[/orders /orders/1 /orders/2 /orders/3], 40)
      run App
    RUBY

    SIDEKIQ = <<~'RUBY'
      require "sidekiq"
      unless File.exist?("redis.sock")
        Process.detach(spawn("redis-server", "--port", "0", "--unixsocket", "#{__dir__}/redis.sock", "--save", "", out: File::NULL))
        sleep 0.05 until File.exist?("redis.sock")
      end
      address = { url: "unix://#{__dir__}/redis.sock" }
      Sidekiq.configure_client { |config| config.redis = address }
      Sidekiq.configure_server { |config| config.redis = address }
      class Report
        include Sidekiq::Worker
        def perform(number) = (1..60_000).sum { |step| Math.sqrt(step * number) }
      end
      class Done
        include Sidekiq::Worker
        def perform = Process.kill(:TERM, Process.pid)
      end
      60.times { |number| Report.perform_async(number) }
      Done.perform_in(3)
      at_exit { system("redis-cli", "-s", "#{__dir__}/redis.sock", "shutdown", "nosave", err: File::NULL) }
    RUBY

    # Name, packages, preparation, command: as in PROGRAMS.
    ROWS = [
      ["sinatra", %w[ruby-sinatra puma ruby-sequel ruby-sqlite3], ["config.ru", SINATRA], "puma -s -b tcp://127.0.0.1:9391 config.ru"],
      ["grape", %w[ruby-grape puma], ["config.ru", GRAPE], "puma -s -b tcp://127.0.0.1:9392 config.ru"],
      ["rails", %w[ruby-rails puma ruby-sqlite3], ["config.ru", RAILS], "puma -s -b tcp://127.0.0.1:9393 config.ru"],
      ["sidekiq", %w[ruby-sidekiq redis-server redis-tools], ["jobs.rb", SIDEKIQ], "sidekiq -q default -r ./jobs.rb"]
    ].freeze
  end
end
