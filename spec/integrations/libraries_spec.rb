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

  it "add no line to what RSpec prints of a failure" do
    need "rspec"
    spec = script("RSpec.describe('A shop') { it('sells') { #{burn}; raise 'sold out' } }", name: "shop_spec.rb")
    result = profiler_child("record", "-o", in_box("it.pb.gz"), "--", "rspec", spec, chdir: box)
    expect(result.out.lines.grep(/^ +# /)).to match [%r{ # \./shop_spec\.rb:1:}]
  end

  it "name the tests of minitest" do
    need_library "minitest"
    test = script("require 'minitest/autorun'\nclass ShopTest < Minitest::Test\n  def test_sells = (#{burn})\n  def test_fails = (#{burn}; flunk)\nend", name: "test.rb")
    result = profiler_child("record", "-o", in_box("it.pb.gz"), "--", RbConfig.ruby, test, chdir: box)
    expect(result.out).to include("2 runs, 1 assertions, 1 failures")
    expect(values(in_box("it.pb.gz"), "example")).to eq %w[ShopTest#test_fails ShopTest#test_sells]
  end

  # The alias of a prepended method would call itself without end.
  it "do not disturb a library that wraps the same method by alias_method" do
    need_library "minitest", "rake"
    test = script(<<~RUBY, name: "test.rb")
      require "minitest/autorun"
      require "rake"
      eval("nil") # the hooks are installed by now
      [[Minitest::Test, :run], [Rake::Task, :execute]].each do |owner, name|
        owner.class_eval do
          alias_method(:original, name)
          define_method(:wrapped) { |*arguments| original(*arguments) }
          alias_method(name, :wrapped)
        end
      end
      class ShopTest < Minitest::Test
        def test_sells = (#{burn})
      end
      Rake::Task.define_task(:warm) { #{burn} }.invoke
    RUBY
    path = record(RbConfig.ruby, "-w", test)
    expect([values(path, "example"), values(path, "rake")]).to eq [%w[ShopTest#test_sells], %w[warm]]
  end

  describe "in an app of Rails" do
    # Records the app. Returns what was said, the endpoints, the statement for a row, and the first finding.
    def recorded_app(**env)
      need_library "rails", "sqlite3"
      app = File.join(__dir__, "rails/apps/plain.rb")
      out = in_box("it.pb.gz")
      result = profiler_child("record", "-o", out, "--", RbConfig.ruby, "-I#{Child::LIB}", "-W0", app, chdir: box, env: env.transform_keys(&:to_s))
      expect(result.code).to eq(0), result.err
      found = run_json("profile = Profiler::Profile.load(#{out.inspect}); print_json([endpoints(profile), profile.markers.map(&:name).grep(/items/).last, profile.findings.first])")
      [result.err, *found]
    end

    it "name its actions and its SQL, without a line for the profiler" do
      _, endpoints, statement, first = recorded_app
      expect(endpoints.select(&:last)).to eq [["orders#index", 10], ["orders#show", 10]]
      expect(statement).to match(/\ASQL Item Load: SELECT "items"\.\* FROM "items" WHERE "items"\."order_id" = \?/)
      expect(first).to include(kind: "queries", text: match(/\Aitems queried 30 times a request under orders#index, /))
    end

    it "are those that the app configures, if it requires profiler/rails" do
      _, endpoints, statement, = recorded_app(WITH_GEM: "1")
      expect(endpoints.select(&:last)).to eq [["orders#index", 10], ["orders#show", 10]]
      expect(statement).to be_nil
    end

    it "are missing, and the app runs, if Rails does not have the expected interface" do
      err, _, statement, = recorded_app(OLD_RAILS: "1")
      expect(statement).to be_nil
      expect(err).to include("[profiler] could not hook into Rails, so its work has no labels: NoMethodError: ")
    end
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

  it "name the jobs of Sidekiq, and count them once beside the middleware" do
    need_library "sidekiq"
    found = run_json(<<~'RUBY', err: match(//))
      require "sidekiq"
      require "sidekiq/testing"
      class ImportJob
        include Sidekiq::Worker
        sidekiq_options queue: "slow"
        def perform(milliseconds) = Object.new.send(:burn, milliseconds)
      end
      Sidekiq::Testing.inline!
      Sidekiq.logger.level = Logger::FATAL # newer ones log to stdout
      def jobs(profile) = %w[job queue].map { |label| profile.by(label, limit: 0).map { |row| row.values_at(:value, :count) } - [["(none)", nil], ["(none)", 0]] }
      idle = ImportJob.perform_async(1)
      alone = Profiler.run { 2.times { ImportJob.perform_async(20) } }
      failed = nil
      Profiler.run { failed = ImportJob.perform_async("no number") rescue $!.class.name }
      require "profiler/sidekiq"
      Sidekiq::Testing.server_middleware { |chain| chain.add Profiler::Sidekiq }
      beside = Profiler.run { 3.times { ImportJob.perform_async(20) } }
      print_json([idle.class.name, failed, jobs(alone), jobs(beside)])
    RUBY
    expect(found).to eq ["String", "TypeError", [[["ImportJob", 2]], [["slow", 2]]], [[["ImportJob", 3]], [["slow", 3]]]]
  end

  it "do not touch libraries that are not loaded, not ready, or of another shape" do
    found = run_json(<<~'RUBY', err: match(/\A\[profiler\] could not hook into Rake, so its work has no labels: NoMethodError: .*\n\z/))
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
      hooks = Profiler.const_get(:InLibraries).instance_variable_get(:@hooked)
      print_json([Object.autoload?(:Sinatra).to_s, hooks[:RSpec]])
    RUBY
    expect(found).to eq ["/nowhere/sinatra", false]
  end
end
