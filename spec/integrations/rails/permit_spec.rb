# frozen_string_literal: true

require_relative "../../support/tools"

RSpec.describe "config.profiler.permit" do
  include_context "with a box"
  include_context "with a program"
  include Tools

  let(:by_session) { '->(env) { ActionDispatch::Request.new(env).session[:role] == "admin" }' }

  def members(code, permit: by_session, prepare: "", **options)
    need_library "rails"
    env = { "BOX" => box, "PERMIT" => permit, "PREPARE" => prepare }
    run_json("require 'rack/mock'\nrequire #{File.join(__dir__, "apps/members.rb").inspect}\n$VERBOSE = false\n#{code}", env: env, ruby_options: ["-W0"], **options)
  end

  # The values of the code, each with what it printed on stderr, in an app for each of the permits. They are forked from a process that
  # has loaded Rails, and nothing of the profiler.
  def members_of_each(permits, code)
    need_library "rails"
    values = program_json("rails/members_of_each", env: { "BOX" => box, "PERMITS" => JSON.generate(permits), "CODE" => "#{prelude}\n#{code}" }, ruby_options: ["-W0"])
    permits.zip(values)
  end

  let(:prelude) { 'COUNTS = %w[/count /count?profile=cpu /count].freeze' }

  it "can read the session: permitted users get profiles and the names of slow requests" do
    seen = members(<<~'RUBY', prepare: "config.profiler.slower_than = 1")
      admin, member = %w[admin member].map { |role| Browser.new.tap { |it| it.get("/login?role=#{role}") } }
      stored.each { |it| File.delete(it) } # the first requests can be slow
      pages = %w[/page /parts].map do |path|
        status, headers, text = admin.get("#{path}?profile=cpu")
        [status, text, stacks(headers).any? { |it| it.include?("Work.burn") }]
      end
      _, headers, text = admin.get("/page?profile=last")
      refused = admin.get("/page?profile=cpu;interval=1")[1]["x-profiler-refused"]
      status, broken, = admin.get("/broken?profile=cpu")
      before = stored.size
      named = [admin, member, Browser.new].map { |it| it.get("/slow")[1].key?("x-profiler-result") }
      print_json(pages: pages, last: [headers["content-type"], text.include?("<main id=")], refused: refused, broken: [status, labels(broken)], named: named,
                 stored: [before, stored.size], running: open_sessions)
    RUBY
    expect(seen).to eq(pages: [[200, "page", true], [200, "part\n" * 3, true]], last: ["text/html; charset=utf-8", true],
                       refused: "interval: 1 is not an Integer from 50 to 1000000 microseconds", broken: [500, [%w[500 pages#broken]]],
                       named: [true, false, false], stored: [3, 6], running: 0)
  end

  it "shows pages only under the profiler's policy if Rails has one too" do
    policy = <<~RUBY
      config.content_security_policy { |policy| policy.default_src :self; policy.script_src :self }
      config.content_security_policy_nonce_generator = ->(_request) { "nonce" }
    RUBY
    seen = members(<<~'RUBY', prepare: policy)
      admin = Browser.new.tap { |it| it.get("/login?role=admin") }
      id = admin.get("/page?profile=cpu")[1]["x-profiler-result"]
      env = ->(path) { Rack::MockRequest.env_for("http://localhost#{path}", "REMOTE_ADDR" => "127.0.0.1", "HTTP_COOKIE" => admin.get("/page")[1]["set-cookie"] || admin.instance_variable_get(:@cookie)) }
      policies = ["/page", "/page?profile=#{id}", "/page?profile=list"].map do |path|
        MembersApp.call(env[path])[1].to_h.select { |name, _| name.downcase == "content-security-policy" }.values
      end
      print_json(policies)
    RUBY
    own, page, list = seen
    expect(own).to match([/script-src 'self' 'nonce-nonce'/])
    expect(page).to match([/\Adefault-src 'none'; .*sandbox allow-scripts/])
    expect(list).to match([/\Adefault-src 'none'; .*form-action 'self'/])
  end

  it "leaves no trace in response and session when it denies" do
    seen = members(<<~'RUBY')
      member = Browser.new
      member.get("/login?role=member")
      same = [member, Browser.new, Browser.new("_members_app_session=forged; role=admin")].map do |browser|
        plain = browser.get("/page")
        responses = ["/page?profile=cpu", "/page?profile=last", "/page?profile=cpu;nonsense=1"].map { |it| browser.get(it) }
        responses << browser.get("/page", "HTTP_X_PROFILE" => "cpu")
        [responses.count(plain), plain[1].key?("set-cookie")]
      end
      print_json(same: same, counts: COUNTS.map { |it| member.get(it)[2] }, echo: member.get("/echo?profile=cpu", method: "POST", params: { said: "heard" })[2],
                 stored: stored, sessions: ObjectSpace.each_object(Profiler::Session).count)
    RUBY
    expect(seen).to eq(same: [[4, false]] * 3, counts: %w[1 2 3], echo: "heard", stored: [], sessions: 0)
  end

  it "changes nothing, whatever it does with the session, the parameters and by raising" do
    permits = {
      "->(env) { ActionDispatch::Request.new(env).then { |it| it.session[:count] = 100; it.cookie_jar[:mine] = 1; it.flash[:note] = 1; false } }" => "",
      "->(env) { ActionDispatch::Request.new(env).then { |it| it.session[:count] = 100; it.reset_session; it.params } && nil }" => "",
      '->(env) { Rack::Request.new(env).then { |it| it.session["count"] = 100; it.params["said"] == "please" } }' => "",
      '->(env) { env["rack.session"].clear; raise "in permit" }' => "RuntimeError: in permit",
      "->(env) { raise NotImplementedError, 'not yet' }" => "NotImplementedError: not yet",
      "->(env) { def again = again; again }" => "SystemStackError: stack level too deep",
      "->(env) { throw :warden }" => "",
      "->(env) { env.fetch('warden') }" => "KeyError: key not found: \"warden\"",
    }
    members_of_each(permits.keys, <<~'RUBY').each do |permit, (seen, err)|
      member = Browser.new
      member.get("/login?role=member")
      plain = member.get("/page")
      { same: member.get("/page?profile=cpu") == plain, counts: COUNTS.map { |it| member.get(it)[2] },
        echo: member.get("/echo?profile=cpu", method: "POST", params: { said: "heard" })[2], stored: stored }
    RUBY
      expect(seen).to eq(same: true, counts: %w[1 2 3], echo: "heard", stored: []), permit
      expect(err).to eq(permits[permit].empty? ? "" : "[profiler] a request for a profile was refused: #{permits[permit]}\n"), permit
    end
  end

  it "begins no profile before it permits one, whatever the load" do
    expect(members(<<~'RUBY', prepare: "config.profiler.rate = 3; config.profiler.sample_rate = 0")).to eq(denied: 0, named: true, begun: 1)
      begun = 0
      Profiler::Middleware.name
      Profiler.const_get(:Recording).prepend(Module.new { define_method(:initialize) { |*args| begun += 1; super(*args) } })
      50.times { Browser.new.get("/page?profile=cpu") }
      denied = begun
      admin = Browser.new
      admin.get("/login?role=admin")
      print_json(denied: denied, named: admin.get("/page?profile=cpu")[1].key?("x-profiler-result"), begun: begun)
    RUBY
  end

  it "makes only the requested profile of a request when all requests are recorded" do
    stored, named, burns = members(<<~'RUBY', prepare: "config.profiler.slower_than = 0.01")
      admin = Browser.new
      admin.get("/login?role=admin")
      stored.each { |it| File.delete(it) }
      _, headers, = admin.get("/parts?profile=cpu")
      print_json([stored.map { |it| File.basename(it) }, headers["x-profiler-result"], stacks(headers).count { |it| it.include?("Work.burn") }])
    RUBY
    expect(stored).to eq([named])
    expect(burns).to be_positive
  end

  it "can be set in config/initializers" do
    Dir.mkdir(in_box("config"))
    Dir.mkdir(in_box("config/initializers"))
    File.write(in_box("config/initializers/profiler.rb"), "Rails.application.config.profiler.permit = #{by_session}\n")
    expect(members(<<~'RUBY', permit: nil)).to eq([true, false])
      admin = Browser.new
      admin.get("/login?role=admin")
      print_json([admin, Browser.new].map { |it| it.get("/page?profile=cpu")[1].key?("x-profiler-result") })
    RUBY
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
      seen = members(<<~'RUBY', prepare: prepare, permit: permit)
        class PagesController
          def login = request.env["warden"].set_user(params[:role]).then { render plain: "welcome" }
          def count = request.env["warden"].user.then { render plain: request.env["warden"].session["seen"].to_s }
        end
        stored.each { |it| File.delete(it) } # of the permit before
        admin, member, locked, nobody = Array.new(4) { Browser.new }
        admin.get("/login?role=admin")
        member.get("/login?role=member")
        locked.get("/login?role=locked")
        profiled = stacks(admin.get("/page?profile=cpu")[1]).any? { |it| it.include?("Work.burn") }
        print_json(profiled: profiled, counts: COUNTS.map { |it| member.get(it)[2] },
                   same: [member, locked, nobody].map { |it| it.get("/page") == it.get("/page?profile=cpu") }, stored: stored.size)
      RUBY
      expect(seen).to eq(profiled: true, counts: %w[2 3 4], same: [true, true, true], stored: 1), permit
    end
  end
end
