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

  it "has a profile of the request that asks: its action, its SQL, and a hot path that makes sense" do
    set_up
    log = serving("bundle", "exec", "puma", "-q", "-e", "production", "-t", "4:4", "-b", "tcp://127.0.0.1:PORT", File.join(__dir__, "config.ru"),
                  env: app_env, chdir: in_box("redmine"), ready: "/login", patience: 120) do |port|
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
end
