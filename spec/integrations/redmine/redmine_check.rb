# frozen_string_literal: true

require_relative "../../spec_helper"
require "fileutils"
require_relative "../../support/server"
require_relative "../../support/tools"

# A whole application, as Debian has it, in a copy with a database of its own: rake check:redmine.
RSpec.describe "Redmine" do
  include_context "with a box"
  include Server
  include Tools

  def app_env
    { "REDMINE" => in_box("redmine"), "BUNDLE_GEMFILE" => in_box("redmine/Gemfile"), "RAILS_ENV" => "production", "PROFILER_LIB" => Child::LIB,
      "OUT" => in_box("profiles"), "RUBYOPT" => "-W0", "SECRET_KEY_BASE" => "x" * 64, "RAILS_LOG_TO_STDOUT" => nil }
  end

  def set_up
    from = "/usr/share/redmine"
    unless File.exist?(from) && system("command -v puma > /dev/null")
      raise "redmine or puma is missing: apt-get install redmine redmine-sqlite puma" if ENV["PROFILER_REQUIRE_TOOLS"]

      skip "redmine or puma is not installed"
    end
    FileUtils.mkdir_p(in_box("redmine"))
    Dir.children(from).grep_v(/\Ainstances|Gemfile\.lock\z/).each { |name| FileUtils.cp_r(File.join(from, name), in_box("redmine"), preserve: true) }
    %w[tmp/cache log files config].each { |name| FileUtils.mkdir_p(in_box("redmine/instances/default/#{name}")) }
    %w[tmp plugins].each { |name| FileUtils.mkdir_p(in_box("redmine/#{name}")) }
    File.write(in_box("redmine/instances/default/config/database.yml"), "production:\n  adapter: sqlite3\n  database: #{in_box("redmine.sqlite3")}\n")
    File.write(in_box("redmine/Gemfile.local"), "gem \"puma\"\n")
    [%w[bundle exec rake db:migrate], ["bundle", "exec", "rails", "runner", File.join(__dir__, "seed.rb")]].each do |command|
      result = command_child(*command, env: app_env, chdir: in_box("redmine"), timeout: 170)
      raise result.out + result.err unless result.status.success?
    end
  end

  def profile(port, path)
    response = ask(port, path, { "X-May" => "yes", "X-Profile" => "mode=cpu,wall" })
    file = in_box("profiles/#{response["x-profiler-result"]}")
    wait_until { File.file?(file) }
    code = <<~RUBY
      require "profiler"
      require "json"
      profile = Profiler::Profile.load(ARGV[0])
      own = ->(it, name) { it.frames.any? { |frame| frame.name == name } }
      puts JSON.generate(
        endpoints: profile.samples.group_by { |it| it.labels["endpoint"] }.transform_values { |it| it.sum(&:cpu) },
        status: profile.samples.map { |it| it.labels["status"] }.uniq, markers: profile.markers.map(&:name),
        cpu: profile.samples.sum(&:cpu), wall: profile.samples.sum(&:wall),
        under: %w[ActionController::Metal#dispatch ActionView::Renderer#render Redmine::WikiFormatting.to_html].to_h { |name| [name, profile.samples.select { |it| own.(it, name) }.sum(&:cpu)] },
        report: profile.filter(app_only: true).report(limit: 25, sort: :total)
      )
    RUBY
    result = ruby_child("-e", code, file)
    raise result.err unless result.status.success?

    [response, JSON.parse(result.out, symbolize_names: true)]
  end

  def serving_redmine(**env, &block)
    serving("bundle", "exec", "puma", "-q", "-e", "production", "-t", "4:4", "-b", "tcp://127.0.0.1:PORT", File.join(__dir__, "config.ru"),
            env: app_env.merge(env.transform_keys(&:to_s)), chdir: in_box("redmine"), ready: "/login", patience: 120, &block)
  end

  it "has a profile of the request that asks: its action, its SQL, and a hot path that makes sense" do
    set_up
    log = serving_redmine do |port|
      2.times { ask(port, "/projects/shop/issues") }
      _, list = profile(port, "/projects/shop/issues")
      _, show = profile(port, "/issues/7")
      missing, gone = profile(port, "/issues/999999")
      failed, broken = profile(port, "/broken")
      sent, parts = profile(port, "/parts")
      puts list[:report], show[:report] if ENV["SHOW"]

      expect(list[:endpoints].max_by(&:last).first).to eq(:"issues#index")
      expect(show[:endpoints].max_by(&:last).first).to eq(:"issues#show")
      expect([list, show, gone, broken, parts].map { |it| it[:status] }).to eq([["200"], ["200"], ["404"], ["500"], ["200"]])
      expect([missing.code, failed.code, sent.code]).to eq(%w[404 500 200])
      expect(sent.body.lines.size).to be >= 50
      expect(list[:markers].grep(/\ASQL Issue/)).not_to be_empty
      expect(list[:markers].grep(/\Arender/)).not_to be_empty
      expect([list, show, parts].flat_map { |it| it[:markers] }.join).not_to include("secret")
      # Nearly all is done below the dispatcher; what a list takes is rendering, what a body of texts takes is formatting them.
      expect(list[:under][:"ActionController::Metal#dispatch"]).to be > list[:cpu] / 2
      expect(list[:under][:"ActionView::Renderer#render"]).to be > list[:cpu] / 4
      expect(parts[:under][:"Redmine::WikiFormatting.to_html"]).to be > parts[:cpu] / 2
      expect(list[:wall]).to be >= list[:cpu] * 0.9
      expect(ask(port, "/projects/shop/issues?profile=cpu").to_hash.keys.grep(/profiler/)).to be_empty
    end
    puts log if ENV["SHOW"]
  end

  # The windows stay in tmp/redmine, for rake bench:uploads.
  it "has windows under load that engines take, with the endpoints of its pages" do
    need("wrk")
    set_up
    kept = File.join(Child::ROOT, "tmp/redmine")
    FileUtils.rm_rf(kept)
    File.write(in_box("pages.lua"), <<~LUA)
      local pages, turn = { "/projects/shop/issues", "/issues/7", "/projects/shop", "/issues/11", "/projects/shop/activity" }, 0
      request = function()
        turn = turn + 1
        return wrk.format("GET", pages[turn % #pages + 1])
      end
    LUA
    modes = ["cpu", "cpu,wall", "cpu,wall,allocations"]
    modes.each do |mode|
      serving_redmine(WINDOWS: kept, MODE: mode) do |port|
        wrk = command_child("wrk", "-t1", "-c4", "-d31s", "-s", in_box("pages.lua"), "http://127.0.0.1:#{port}", timeout: 60)
        expect(wrk.out).to match(/[1-9]\d* requests in/)
        expect(wrk.out).not_to include("Non-2xx")
      end
    end
    expect(endpoints(kept)).to eq(modes.to_h { |mode| [mode.tr(",", " ").to_sym, %w[activities#index issues#index issues#show projects#show]] })
    bench = ruby_child("bench/uploads.rb", env: { "BENCH_WINDOWS" => kept }, timeout: 300)
    raise bench.err unless bench.status.success?

    puts bench.out if ENV["SHOW"]
    rows = bench.out.scan(/^\| (otlp|pyroscope), ([\w ]+?) \| (\d+) \| (\d+) \| ([\d.]+) \|/)
    expect(rows.map { |engine, mode| [engine, mode] }).to match_array(%w[otlp pyroscope].product(modes.map { |mode| mode.tr(",", " ") }))
    rows.each do |_engine, _mode, samples, rows_of_window, kilobytes|
      expect(Integer(samples)).to be > 500
      expect(Integer(rows_of_window)).to be < 16_000
      expect(Float(kilobytes)).to be < 1_000
    end
  end

  # Returns the endpoints with the most CPU time of all windows, by the names of their folders.
  def endpoints(directory)
    code = <<~'RUBY'
      require "profiler"
      require "json"
      puts JSON.generate(Dir[File.join(ARGV[0], "*/")].to_h { |folder|
        rows = Dir[File.join(folder, "*.pb.gz")].flat_map { |file| Profiler::Profile.load(file).samples.select { |it| it.labels["endpoint"] } }
        [File.basename(folder), rows.group_by { |it| it.labels["endpoint"] }.max_by(4) { |_, some| some.sum(&:cpu) }.map(&:first).sort]
      })
    RUBY
    result = ruby_child("-e", code, directory)
    raise result.err unless result.status.success?

    JSON.parse(result.out, symbolize_names: true)
  end
end
