# frozen_string_literal: true

require "json"
require_relative "../../support/tools"

RSpec.describe "profiler/rails" do
  include_context "with a box"
  include Tools

  def rails(code, **env)
    need_library "rails", "sqlite3"
    result = ruby_child("-e", <<~RUBY, env: env.transform_keys(&:to_s).merge("BOX" => box, "RAILS_ENV" => env.fetch(:RAILS_ENV, "development")), ruby_options: ["-W0"])
      require "json"
      require "rack/mock"
      require #{File.join(__dir__, "apps/shop.rb").inspect}
      def get(path, env = {})
        status, headers, body = ShopApp.call(Rack::MockRequest.env_for("http://localhost\#{path}", { "REMOTE_ADDR" => "127.0.0.1" }.merge(env)))
        text = +""
        body.each { |part| text << part }
        [status, headers, text]
      ensure
        body.close if body.respond_to?(:close)
      end
      def profile_of(headers) = Profiler::Profile.load(File.join("\#{Rails.root}/tmp/profiler", headers.to_h.transform_keys(&:downcase).fetch("x-profiler-result")))
      def labels(profile, name) = profile.by(name).to_h { |it| [it[:name] || it[:value], it[:total]] }
      #{code}
    RUBY
    expect(result.status).to be_success, result.err
    result.out
  end

  it "labels samples with controller and action, and marks SQL, templates and caches without values", :timed do
    out = JSON.parse(rails(<<~RUBY))
      get("/orders/1")
      Rails.cache.clear
      status, headers, text = get("/orders/17?profile=cpu,wall")
      profile = profile_of(headers)
      rows = profile.samples.select { |it| it.frames.any? { |frame| frame.name == "Work.burn" } }
      puts JSON.generate(status: status, text: text, endpoints: rows.map { |it| it.labels.slice("endpoint", "method", "status") }.uniq, markers: profile.markers.map(&:name),
                         longest: profile.markers.map(&:duration).max, burnt: rows.sum(&:cpu))
    RUBY
    expect(out.slice("status", "text")).to eq("status" => 200, "text" => "secret name")
    expect(out["endpoints"]).to eq(["endpoint" => "orders#show", "method" => "GET", "status" => "200"])
    expect(out["burnt"]).to be_between(20_000_000, 40_000_000) # a tick of 4 ms at each end of two
    expect(out["markers"]).to include('SQL Order Load: SELECT "orders".* FROM "orders" WHERE "orders"."name" = ? ORDER BY "orders"."id" ASC LIMIT ?')
      .and include("cache read miss").and include("render template inline template")
    expect(out["markers"].join).not_to include("secret")
    expect(out["longest"]).to be > 14_000_000
  end

  it "profiles 404, 500, streamed bodies and ActionController::Live", :timed do
    out = JSON.parse(rails(<<~RUBY))
      ask = { "HTTP_X_PROFILE" => "cpu" }
      said = %w[/gone /broken /parts /live /nowhere].to_h do |path|
        Work.used = 0
        status, headers, text = get(path, ask)
        profile = profile_of(headers)
        burnt = profile.samples.select { |it| it.frames.any? { |frame| frame.name == "Work.burn" } }
        [path, [status, text, profile.samples.map { |it| it.labels["status"] }.uniq, profile.samples.map { |it| it.labels["endpoint"] }.uniq.compact, burnt.sum(&:cpu) / 1_000_000 - Work.used]]
      end
      puts JSON.generate(said)
    RUBY
    expect(out["/gone"].values_at(0, 2, 3)).to eq([404, ["404"], ["orders#gone"]])
    expect(out["/broken"].values_at(0, 2, 3)).to eq([500, ["500"], ["orders#broken"]])
    expect(out["/nowhere"].values_at(0, 2, 3)).to eq([404, ["404"], []])
    expect(out["/parts"].first(4)).to eq([200, "part\n" * 3, ["200"], ["orders#parts"]])
    expect(out["/live"].first(4)).to eq([200, "live\n" * 3, ["200"], ["live#index"]])
    # What is done between the last tick in a part and its end can count elsewhere: 4 ms, three times.
    expect(out.values_at("/parts", "/live").map(&:last)).to all(be_between(-13, 15))
  end

  it "labels jobs, and profiles those whose class is profiled", :timed do
    out = rails(<<~RUBY)
      whole = Profiler.run { PlainJob.perform_now; ImportJob.perform_now }
      rows = whole.samples.select { |it| it.frames.any? { |frame| frame.name == "Work.burn" } }
      p rows.map { |it| it.labels.values_at("job", "queue") }.uniq.sort
      files = Dir["\#{Rails.root}/tmp/profiler/*"]
      mine = Profiler::Profile.load(files[0])
      p files.size, mine.samples.map { |it| it.labels["job"] }.uniq, mine.samples.sum(&:cpu) / 1_000_000 >= 30
    RUBY
    expect(out).to eq("[[\"ImportJob\", \"default\"], [\"PlainJob\", \"default\"]]\n1\n[\"ImportJob\"]\ntrue\n")
  end

  it "does nothing in production unless it is enabled" do
    out = rails(<<~RUBY, RAILS_ENV: "production")
      p get("/orders/1?profile=cpu")[1].to_h.keys.grep(/profiler/i), Dir.exist?("\#{Rails.root}/tmp/profiler")
    RUBY
    expect(out).to eq("[]\nfalse\n")
  end

  it "records bin/rails runner, and booting, in one command" do
    need_library "rails"
    %w[bin config].each { |name| Dir.mkdir(in_box(name)) }
    File.write(in_box("bin/rails"), <<~RUBY)
      #!#{RbConfig.ruby}
      require "logger"
      APP_PATH = File.expand_path("../config/application", __dir__)
      require "rails/commands"
    RUBY
    File.chmod(0o755, in_box("bin/rails"))
    File.write(in_box("config/environment.rb"), "require_relative \"application\"\nTiny.initialize!\n")
    File.write(in_box("config/application.rb"), <<~RUBY)
      require "rails"
      class Tiny < Rails::Application
        config.eager_load = false
        config.logger = Logger.new(IO::NULL)
      end
    RUBY
    work = "def work = 300_000.times { |number| number.to_s }\nwork\n"
    # The library itself comes through RUBYOPT; that of Rails warns on its own.
    result = profiler_child("record", "-o", "runner.pb.gz", "--", "bin/rails", "runner", work, chdir: box, env: { "RAILS_ENV" => "development" })
    expect(result.status).to be_success, result.err
    expect(functions("runner.pb.gz")).to include("Object#work").and include("Rails::Command::RunnerCommand#perform").and include("Rails::Application#initialize!")
  end
end
