# frozen_string_literal: true

require_relative "../../support/tools"

RSpec.describe "profiler/rails" do
  include_context "with a box"
  include_context "with a program"
  include Tools

  def rails(code, **env)
    need_library "rails", "sqlite3"
    run_json(<<~RUBY, env: env.transform_keys(&:to_s).merge("BOX" => box, "RAILS_ENV" => env.fetch(:RAILS_ENV, "development")), ruby_options: ["-W0"], err: be_a(String))
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
      #{code}
    RUBY
  end

  it "labels samples with controller and action, and marks SQL, templates and caches without values", :timed do
    out = rails(<<~RUBY)
      get("/orders/1")
      Rails.cache.clear
      Work.used = 0
      status, headers, text = get("/orders/17?profile=cpu,wall")
      profile = profile_of(headers)
      rows = samples_in(profile, "Work.burn")
      print_json(status: status, text: text, endpoints: rows.map { |it| it.labels.slice("endpoint", "method", "status") }.uniq, markers: profile.markers.map(&:name),
                 longest: profile.markers.map(&:duration).max, more_ms: rows.sum(&:cpu) / 1e6 - Work.used)
    RUBY
    expect(out).to include(status: 200, text: "secret name", endpoints: [{ endpoint: "orders#show", method: "GET", status: "200" }],
                           more_ms: be_between(-10, 10), longest: be > 14_000_000) # a tick of 4 ms at each end of two
    expect(out[:markers]).to include('SQL Order Load: SELECT "orders".* FROM "orders" WHERE "orders"."name" = ? ORDER BY "orders"."id" ASC LIMIT ?',
                                     "cache read miss", "render template inline template")
    expect(out[:markers].join).not_to include("secret")
  end

  it "profiles 404, 500, streamed bodies and ActionController::Live", :timed do
    out = rails(<<~RUBY).transform_keys(&:to_s)
      ask = { "HTTP_X_PROFILE" => "cpu" }
      results = %w[/gone /broken /parts /live /nowhere].to_h do |path|
        Work.used = 0
        status, headers, text = get(path, ask)
        profile = profile_of(headers)
        labels = %w[status endpoint].map { |name| profile.samples.map { |it| it.labels[name] }.uniq.compact }
        [path, [status, *labels, text, samples_in(profile, "Work.burn").sum(&:cpu) / 1_000_000 - Work.used]]
      end
      print_json(results)
    RUBY
    expect(out.transform_values { |it| it.first(3) }).to eq(
      "/gone" => [404, ["404"], ["orders#gone"]], "/broken" => [500, ["500"], ["orders#broken"]], "/nowhere" => [404, ["404"], ["GET /nowhere"]],
      "/parts" => [200, ["200"], ["orders#parts"]], "/live" => [200, ["200"], ["live#index"]]
    )
    expect(out.values_at("/parts", "/live").map { |it| it[3] }).to eq(["part\n" * 3, "live\n" * 3])
    # Work between the last tick in a part and its end can count elsewhere: 4 ms, three times.
    expect(out.values_at("/parts", "/live").map(&:last)).to all(be_between(-13, 15))
  end

  it "labels jobs, and profiles those whose class is profiled", :timed do
    whole, files, mine, cpu = rails(<<~RUBY)
      whole = Profiler.run { PlainJob.perform_now; ImportJob.perform_now }
      files = Dir["\#{Rails.root}/tmp/profiler/*"]
      mine = Profiler::Profile.load(files[0])
      print_json([samples_in(whole, "Work.burn").map { |it| it.labels.values_at("job", "queue") }.uniq.sort, files.size,
                  mine.samples.map { |it| it.labels["job"] }.uniq, mine.samples.sum(&:cpu)])
    RUBY
    expect([whole, files, mine]).to eq([[%w[ImportJob default], %w[PlainJob default]], 1, ["ImportJob"]])
    expect(cpu).to be >= 30_000_000
  end

  it "counts requests and jobs in sessions of the process" do
    counts = rails(<<~RUBY)
      counts = ->(profile, label) { profile.by(label).select { |it| it[:count] }.to_h { |it| [it[:value], it[:count]] } }
      profile = Profiler.run { 2.times { get("/orders/1") }; PlainJob.perform_now; ImportJob.perform_now; ImportJob.perform_now }
      print_json(%w[endpoint job status].map { |it| counts.call(profile, it) })
    RUBY
    expect(counts).to eq([{ "orders#show": 2 }, { PlainJob: 1, ImportJob: 2 }, { "200": 2 }])
  end

  it "finds the query that an action sends for each row, with its count and line", :timed do
    first, mixed, without = rails(<<~RUBY)
      %w[/orders /orders/1].each { |path| get(path) } # warms up
      found = ->(orders, others) do
        Profiler.run(mode: %i[cpu wall], interval: 500) { orders.times { get("/orders") }; others.times { get("/orders/1") } }.findings
      end
      mixed = found[20, 60].find { |it| it[:kind] == :queries }
      print_json([found[20, 0].first, mixed, found[0, 20].map { |it| it[:kind] }])
    RUBY
    expect(mixed).to include(kind: "queries", text: match(/\Aorders queried 25 times a request under orders#index, /)), "the requests of other endpoints do not count"
    expect(without).not_to include("queries")
    shop = File.join(__dir__, "apps/shop.rb")
    expect(first).to include(kind: "queries", weight: 500, path: shop, line: File.readlines(shop).index { |it| it.include?("# one query for each") } + 1,
                             text: match(/\Aorders queried 25 times a request under orders#index, [\d.]+ m?s: SELECT COUNT\(\*\) FROM "orders" WHERE "orders"."name" = \?\z/))
  end

  it "does nothing in production unless it is enabled" do
    expect(rails(<<~RUBY, RAILS_ENV: "production")).to match(status: 200, headers: [], directory: false)
      status, headers, = get("/orders/1?profile=cpu")
      print_json(status: status, headers: headers.to_h.keys.grep(/profiler/i), directory: Dir.exist?("\#{Rails.root}/tmp/profiler"))
    RUBY
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
