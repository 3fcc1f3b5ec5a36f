# frozen_string_literal: true

require_relative "../support/tools"

RSpec.describe "The labels of libraries" do
  include_context "with a box"
  include_context "with a program"
  include Tools

  # The values of a label in a profile, without those samples that lack it.
  def values(path, label)
    run_json("print_json(Profiler::Profile.load(#{path.inspect}).by(#{label.inspect}, limit: 0).map { |row| row[:value] }.grep_v('(none)').sort)")
  end

  def record(*command)
    result = profiler_child("record", "-o", in_box("it.pb.gz"), "--", *command, chdir: box)
    expect([result.code, result.err[/^.*no labels.*$/]]).to eq [0, nil]
    in_box("it.pb.gz")
  end

  let(:burn) { "till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.03; 9.to_s while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till" }
  let(:prelude) { <<~'RUBY' }
    require "stringio"
    def get(app, path, **more)
      app.call({ "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => "", "SERVER_NAME" => "x", "HTTP_HOST" => "x", "SERVER_PORT" => "80",
                 "rack.url_scheme" => "http", "rack.input" => StringIO.new, "rack.errors" => StringIO.new }.merge(more.transform_keys(&:to_s)))
    end
    # By endpoint, the number of requests.
    def endpoints(profile) = profile.by("endpoint", limit: 0).map { |row| [row[:value], row[:count]] }.reject { |value, _| value == "(none)" }.sort
  RUBY

  it "name Rake's tasks" do
    need_library "rake"
    File.write(in_box("Rakefile"), "task(:warm) { #{burn} }\nnamespace(:db) { task(migrate: :warm) { #{burn} } }\n")
    expect(values(record("rake", "db:migrate"), "rake")).to eq %w[db:migrate warm]
  end

  it "name the examples of RSpec" do
    need "rspec"
    spec = script("RSpec.describe('A shop') { it('sells') { #{burn} }; it('counts') { #{burn} } }", name: "shop_spec.rb")
    expect(values(record("rspec", spec), "example")).to eq ["A shop counts", "A shop sells"]
  end

  it "name the tests of minitest" do
    need_library "minitest"
    test = script("require 'minitest/autorun'\nclass ShopTest < Minitest::Test\n  def test_sells = (#{burn})\n  def test_fails = (#{burn}; flunk)\nend", name: "test.rb")
    result = profiler_child("record", "-o", in_box("it.pb.gz"), "--", RbConfig.ruby, test, chdir: box)
    expect(result.out).to include("2 runs, 1 assertions, 1 failures")
    expect(values(in_box("it.pb.gz"), "example")).to eq %w[ShopTest#test_fails ShopTest#test_sells]
  end

  it "name the actions of Rails and its SQL, in an app that has no line for the profiler" do
    need_library "rails", "sqlite3"
    app = script(<<~RUBY, name: "app.rb")
      require "logger"
      require "rails"
      require "active_record/railtie"
      require "action_controller/railtie"
      require "rack/mock"
      ENV["DATABASE_URL"] = "sqlite3::memory:"
      class Shop < Rails::Application
        config.eager_load = false
        config.secret_key_base = "x" * 32
        config.hosts = nil
        config.logger = Logger.new(IO::NULL)
        routes.append { resources(:orders, only: %i[index show]) }
      end
      Shop.initialize!
      ActiveRecord::Schema.verbose = false
      ActiveRecord::Schema.define { create_table(:orders); create_table(:items) { |table| table.belongs_to(:order) } }
      class Item < ActiveRecord::Base; end
      class Order < ActiveRecord::Base; has_many :items; end
      30.times { Item.create!(order_id: Order.create!.id) }
      class OrdersController < ActionController::API
        def index = render(json: Order.all.map { |order| order.items.to_a.size })
        def show = render(json: Order.find(params[:id]))
      end
      %w[/orders /orders/3].each { |path| 10.times { raise path unless Shop.call(Rack::MockRequest.env_for("http://localhost\#{path}")).first == 200 } }
    RUBY
    path = record(RbConfig.ruby, "-W0", app)
    endpoints, statement, first = run_json("profile = Profiler::Profile.load(#{path.inspect}); print_json([endpoints(profile), profile.markers.map(&:name).grep(/items/).last, profile.findings.first])")
    expect(endpoints.select(&:last)).to eq [["orders#index", 10], ["orders#show", 10]]
    expect(statement).to match(/\ASQL Item Load: SELECT "items"\.\* FROM "items" WHERE "items"\."order_id" = \?/)
    expect(first).to include(kind: "queries", text: match(/\Aitems queried 30 times a request under orders#index, /))
  end

  it "name the routes of Sinatra, and count its requests, beside a middleware too" do
    need_library "sinatra/base"
    found = run_json(<<~RUBY)
      require "sinatra/base"
      class App < Sinatra::Base
        set :environment, :production
        get("/posts/:slug") { burn(20); "x" }
        get("/fails") { burn(20); raise "on purpose" }
      end
      idle = get(App, "/posts/hello")[0]
      first = Profiler.run { get(App, "/posts/hello") }
      later = Profiler.run { get(App, "/posts/hello"); get(App, "/fails") }
      both = Profiler::Middleware.new(App, out: ->(_) {})
      beside = Profiler.run { 2.times { get(both, "/posts/hello") } }
      print_json([idle, *[first, later, beside].map { |it| endpoints(it) }])
    RUBY
    expect(found).to eq([200, [["GET /posts/hello", 1]], [["GET /fails", 1], ["GET /posts/:slug", 1]], [["GET /posts/:slug", 1], ["GET /posts/hello", 1]]])
  end

  it "name the routes of Grape, beside a middleware too" do
    need_library "grape"
    alone, beside = run_json(<<~'RUBY', err: match(//))
      require "grape"
      class API < Grape::API
        format :json
        resource(:orders) { route_param(:id) { get { Object.new.send(:burn, 20); { id: params[:id] } } } }
      end
      alone = Profiler.run { 2.times { |id| get(API, "/orders/#{id}") } }
      both = Profiler::Middleware.new(API, out: ->(_) {})
      beside = Profiler.run { 2.times { |id| get(both, "/orders/#{id}") } }
      print_json([alone, beside].map { |it| endpoints(it) })
    RUBY
    expect(alone).to match [[%r{\AGET /orders/:id}, 2]]
    expect(beside.map(&:first)).to include(alone[0][0])
    expect(beside.sum { |_, count| count.to_i }).to eq 2
  end

  # Debian has no Hanami: this is what it promises of an action.
  it "name the actions of Hanami" do
    found = run_json(<<~RUBY)
      module Hanami
        class Action
          def call(env) = handle(env)
        end
      end
      module Books
        class Show < Hanami::Action
          def handle(_env) = (burn(20); [200, {}, ["x"]])
        end
      end
      print_json([endpoints(Profiler.run { get(Books::Show.new, "/books/1") }), Books::Show.new.call({})])
    RUBY
    expect(found).to eq [[["Books::Show", 1]], [200, {}, ["x"]]]
  end

  it "do not touch libraries that are not loaded, not ready, or of another shape" do
    found = run_json(<<~'RUBY', err: match(/\A\[profiler\] work of Rake has no labels: NoMethodError: .*\n\z/))
      module Rake
        Task = Object.new
      end
      autoload :Sinatra, "/nowhere/sinatra"
      module RSpec
        module Core
          class Configuration
          end
        end
      end
      2.times { Profiler.start.stop }
      hooks = Profiler::InLibraries.instance_variable_get(:@hooked)
      print_json([Object.autoload?(:Sinatra).to_s, hooks[:RSpec]])
    RUBY
    expect(found).to eq ["/nowhere/sinatra", false]
  end
end
