# frozen_string_literal: true

RSpec.describe "Profiler::Middleware::OnDemand" do
  include_context "with a program"

  # All requests are watched further out, as with +slower_than+; a session stands between, and whatever copies the env.
  let(:prelude) { require_program("rack/stack") }

  it "ends a request's only profile when its body, its stream or its connection ends" do
    expect(program_json("rack/ends")).to eq(found: [[["requested", %w[Shop.send_part Shop.serve]]]] * 4, open: 0)
  end

  it "lets exceptions and throws pass, ends the profile with them, and frees what it took" do
    expect(run_json(<<~RUBY)).to eq(raised: "RuntimeError: no", thrown: "halted", found: [["requested", ["Shop.serve"]]] * 2, refused: [nil, nil], open: 0)
      raised = error { get(stack { Shop.serve; raise "no" }) }
      thrown = catch(:halt) { get(stack { Shop.serve; throw :halt, :halted }) }
      profiles = found
      app = stack(concurrency: 1) { Shop.serve; [200, {}, ["x"]] }
      print_json(raised: raised, thrown: thrown, found: profiles, refused: Array.new(2) { get(app)[1]["x-profiler-refused"] }, open: open_sessions)
    RUBY
  end

  it "changes neither the response nor an outer profile when it denies" do
    expect(run_json(<<~RUBY)).to eq(untouched: true, found: [[["slow", ["Shop.serve"]]]] * 2, open: 0)
      body, headers = ["x"].freeze, { "a" => "b" }.freeze
      app = stack { Shop.serve; [200, headers, body] }
      response = get(app, "nobody")
      denied = found
      # A client cannot request a profile from a middleware further inside.
      get(app, "admin", "", "HTTP_PROFILER.ON_DEMAND": "cpu", HTTP_PROFILER_ON_DEMAND: "cpu")
      print_json(untouched: response.zip([200, headers, body]).all? { |got, gave| got.equal?(gave) }, found: [denied, found], open: open_sessions)
    RUBY
  end

  it "shows profiles without profiling these requests" do
    expect(run_json(<<~RUBY)).to eq(type: "text/html; charset=utf-8", denied: "app", reasons: ["slow"], open: 0)
      # `fetch` returns the profile of the first result.
      store = Class.new { def store(result) = RESULTS << result; def fetch(_id) = RESULTS.first&.profile }.new
      app = stack(out: store) { Shop.serve; [200, {}, ["app"]] }
      get(app, "nobody", "")
      type, denied = get(app, "admin", "profile=last")[1]["content-type"], get(app, "nobody", "profile=last")[2][0]
      RESULTS.pop
      print_json(type: type, denied: denied, reasons: RESULTS.map(&:reason), open: open_sessions)
    RUBY
  end

  it "runs the app outside of any rescue, even if a profile is refused" do
    expect(run_json(<<~RUBY)).to eq(refused: "interval: 1 is not an Integer from 50 to 1000000 microseconds", current: nil)
      current = :unset
      app = stack(slower_than: nil) { current = $!; [200, {}, ["x"]] }
      print_json(refused: get(app, "admin", "profile=cpu;interval=1")[1]["x-profiler-refused"], current: current)
    RUBY
  end
end
