# frozen_string_literal: true

require "json"
require_relative "../../support/tools"

RSpec.describe "config.profiler.permit" do
  include_context "with a box"
  include Tools

  let(:by_session) { '->(env) { ActionDispatch::Request.new(env).session[:role] == "admin" }' }

  def members(code, permit: by_session, prepare: "")
    need_library "rails"
    env = { "BOX" => box, "PERMIT" => permit, "PREPARE" => prepare }
    ruby_child("-e", "require 'rack/mock'\nrequire #{File.join(__dir__, "apps/members.rb").inspect}\n$VERBOSE = false\n#{code}", env: env, ruby_options: ["-W0"]).tap do |it|
      expect(it.status).to be_success, it.err
    end
  end

  it "can read the session: permitted users get profiles and the names of slow requests" do
    result = members(<<~'RUBY', prepare: "config.profiler.slower_than = 1")
      admin, member = %w[admin member].map { |role| Browser.new.tap { |it| it.get("/login?role=#{role}") } }
      stored.each { |it| File.delete(it) } # the first requests can be slow
      %w[/page /parts].each do |path|
        status, headers, text = admin.get("#{path}?profile=cpu")
        p [status, text, stacks(headers).any? { |it| it.include?("Work.burn") }]
      end
      status, headers, text = admin.get("/page?profile=last")
      p [status, headers["content-type"], text.include?("Work.burn")]
      p admin.get("/page?profile=cpu;interval=1")[1]["x-profiler-refused"]
      status, headers, = admin.get("/broken?profile=cpu")
      p [status, labels(headers)], stored.size
      p [admin, member, Browser.new].map { |it| it.get("/slow")[1].key?("x-profiler-result") }
      p stored.size, ObjectSpace.each_object(Profiler::Session).any?(&:running?)
    RUBY
    expect(result.out).to eq(<<~TEXT)
      [200, "page", true]
      [200, "part\\npart\\npart\\n", true]
      [200, "image/svg+xml", true]
      "interval: 1 is not an Integer from 50 to 1000000 microseconds"
      [500, [["500", "pages#broken"]]]
      3
      [true, false, false]
      6
      false
    TEXT
    expect(result.err).to eq("")
  end

  it "leaves no trace in response and session where it denies" do
    result = members(<<~'RUBY')
      member = Browser.new
      member.get("/login?role=member")
      { "member" => member, "nobody" => Browser.new, "forger" => Browser.new("_members_app_session=forged; role=admin") }.each do |who, browser|
        plain = browser.get("/page")
        asked = ["/page?profile=cpu", "/page?profile=last", "/page?profile=cpu;nonsense=1"].map { |it| browser.get(it) }
        asked << browser.get("/page", "HTTP_X_PROFILE" => "cpu")
        puts "#{who}: #{asked.uniq == [plain]} #{plain[1].key?("set-cookie")}"
      end
      p %w[/count /count?profile=cpu /count].map { |it| member.get(it)[2] }
      p member.get("/echo?profile=cpu", method: "POST", params: { said: "heard" })[2]
      p stored, ObjectSpace.each_object(Profiler::Session).count
    RUBY
    expect(result.out).to eq("member: true false\nnobody: true false\nforger: true false\n[\"1\", \"2\", \"3\"]\n\"heard\"\n[]\n0\n")
    expect(result.err).to eq("")
  end

  it "changes nothing, whatever it does with the session, the parameters and by raising" do
    {
      "->(env) { ActionDispatch::Request.new(env).then { |it| it.session[:count] = 100; it.cookie_jar[:mine] = 1; it.flash[:note] = 1; false } }" => "",
      "->(env) { ActionDispatch::Request.new(env).then { |it| it.session[:count] = 100; it.reset_session; it.params } && nil }" => "",
      '->(env) { Rack::Request.new(env).then { |it| it.session["count"] = 100; it.params["said"] == "please" } }' => "",
      '->(env) { env["rack.session"].clear; raise "in permit" }' => "RuntimeError: in permit",
      "->(env) { raise NotImplementedError, 'not yet' }" => "NotImplementedError: not yet",
      "->(env) { def again = again; again }" => "SystemStackError: stack level too deep",
      "->(env) { throw :warden }" => "",
      "->(env) { env.fetch('warden') }" => "KeyError: key not found: \"warden\"",
    }.each do |permit, error|
      result = members(<<~'RUBY', permit: permit)
        member = Browser.new
        member.get("/login?role=member")
        plain = member.get("/page")
        p member.get("/page?profile=cpu") == plain
        p %w[/count /count?profile=cpu /count].map { |it| member.get(it)[2] }
        p member.get("/echo?profile=cpu", method: "POST", params: { said: "heard" })[2]
        p stored
      RUBY
      expect(result.out).to eq("true\n[\"1\", \"2\", \"3\"]\n\"heard\"\n[]\n"), permit
      expect(result.err).to eq(error.empty? ? "" : "[profiler] a profile was lost: #{error}\n"), permit
    end
  end

  it "begins no profile before it permits one, whatever the load" do
    result = members(<<~'RUBY', prepare: "config.profiler.rate = 3; config.profiler.sample_rate = 0", permit: '->(env) { ActionDispatch::Request.new(env).session[:role] == "admin" }')
      begun = 0
      Profiler::Middleware.name
      Profiler::Recording.prepend(Module.new { define_method(:initialize) { |*args| begun += 1; super(*args) } })
      50.times { Browser.new.get("/page?profile=cpu") }
      p begun
      admin = Browser.new
      admin.get("/login?role=admin")
      p admin.get("/page?profile=cpu")[1].key?("x-profiler-result"), begun
    RUBY
    expect(result.out).to eq("0\ntrue\n1\n")
  end

  it "gives a request only the requested profile where all are watched" do
    result = members(<<~'RUBY', prepare: "config.profiler.slower_than = 0.01")
      admin = Browser.new
      admin.get("/login?role=admin")
      stored.each { |it| File.delete(it) }
      _, headers, = admin.get("/parts?profile=cpu")
      p stored.size, stacks(headers).count { |it| it.include?("Work.burn") } > 0, File.basename(stored[0]) == headers["x-profiler-result"]
    RUBY
    expect(result.out).to eq("1\ntrue\ntrue\n")
  end

  it "can be set in config/initializers" do
    Dir.mkdir(in_box("config"))
    Dir.mkdir(in_box("config/initializers"))
    File.write(in_box("config/initializers/profiler.rb"), "Rails.application.config.profiler.permit = #{by_session}\n")
    result = members(<<~'RUBY', permit: nil)
      admin = Browser.new
      admin.get("/login?role=admin")
      p admin.get("/page?profile=cpu")[1].key?("x-profiler-result"), Browser.new.get("/page?profile=cpu")[1].key?("x-profiler-result")
    RUBY
    expect(result.out).to eq("true\nfalse\n")
  end

  # Devise puts Warden at the end of the stack, as here.
  it "can read Warden's user, without changing what Warden does" do
    skip "Debian 13 has no Warden" if File.read("/etc/os-release").include?("VERSION_ID=\"13\"")
    need_library "warden"
    prepare = <<~'RUBY'
      require "warden"
      config.middleware.use(Warden::Manager) { |it| it.failure_app = ->(env) { [401, {}, ["unauthorized"]] } }
      Warden::Manager.after_set_user do |user, warden, options|
        throw :warden if user == "locked"
        # As Devise does for sessions that time out.
        warden.session(options[:scope])["seen"] = warden.session(options[:scope])["seen"].to_i + 1
      end
    RUBY
    permits = ['->(env) { env["warden"]&.user == "admin" }', '->(env) { env["warden"].authenticate!; env["warden"].user == "admin" }']
    permits.each do |permit|
      result = members(<<~'RUBY', prepare: prepare, permit: permit)
        class PagesController
          def login
            request.env["warden"].set_user(params[:role])
            render plain: "welcome"
          end

          def count
            request.env["warden"].user
            render plain: request.env["warden"].session["seen"].to_s
          end
        end
        stored.each { |it| File.delete(it) } # of the permit before
        admin, member, locked, nobody = Array.new(4) { Browser.new }
        admin.get("/login?role=admin")
        member.get("/login?role=member")
        locked.get("/login?role=locked")
        p stacks(admin.get("/page?profile=cpu")[1]).any? { |it| it.include?("Work.burn") }
        p %w[/count /count?profile=cpu /count].map { |it| member.get(it)[2] }
        p [member, locked, nobody].map { |it| it.get("/page") == it.get("/page?profile=cpu") }
        p stored.size
      RUBY
      expect(result.out).to eq("true\n[\"2\", \"3\", \"4\"]\n[true, true, true]\n1\n"), permit
      expect(result.err).to eq("")
    end
  end
end
