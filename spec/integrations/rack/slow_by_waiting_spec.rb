# frozen_string_literal: true

RSpec.describe "A request that is slow by waiting" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    RESULTS = []
    class Shop
      def self.wait = sleep(0.3)
    end
    def middleware(**options) = Profiler::Middleware.new(->(env) { Shop.wait; [200, {}, ["x"]] }, slower_than: 0.2, out: ->(it) { RESULTS << it }, **options)
    REQUEST = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "/shop", "PATH_INFO" => "/orders/17", "QUERY_STRING" => "secret=1" }.freeze
  RUBY

  it "is kept with its waits, and says in the header which request it was", :timed do
    modes, waited, header, report = run_json(<<~'RUBY')
      middleware.call(REQUEST.dup)
      profile = RESULTS.first.profile
      print_json([profile.meta[:modes], samples_in(profile, "Shop.wait").sum(&:wall) / 1e6, profile.meta[:metadata], profile.report])
    RUBY
    expect(modes).to eq(%w[cpu wall])
    expect(waited).to be_between(270, 400)
    expect(header).to match(method: "GET", path: "/shop/orders/17", endpoint: "GET /shop/orders/:id", status: "200", reason: "slow", seconds: match(/\A0\.[34]\d\d\z/))
    expect(report).to include("path: /shop/orders/17").and include("Shop.wait")
    expect(report).not_to include("secret")
  end

  it "is measured only by CPU time if waits cannot be seen, and one line says so" do
    says = match(/\A\[profiler\] requests and jobs are profiled by CPU time alone: .*before Ruby 3\.3 .*\n\z/)
    says = eq("") if RUBY_VERSION >= "3.3"
    modes = run_json(<<~'RUBY', err: says)
      2.times { middleware(engine: :safepoint).call(REQUEST.dup) }
      print_json(RESULTS.map { |it| it.profile.meta[:modes] })
    RUBY
    expect(modes).to eq([RUBY_VERSION >= "3.3" ? %w[cpu wall] : %w[cpu]] * 2)
  end

  it "is measured as the options say, if they do" do
    modes = run_json(<<~'RUBY')
      middleware(mode: :cpu).call(REQUEST.dup)
      print_json(RESULTS.first.profile.meta[:modes])
    RUBY
    expect(modes).to eq(%w[cpu])
  end
end
