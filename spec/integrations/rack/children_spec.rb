# frozen_string_literal: true

# A request may fork. What the child does is the child's.
RSpec.describe "A profiled request that forks" do
  include_context "with a program"
  include_context "with a box"

  ways = {
    "a block" => "Process.wait(fork { childs })",
    "exit!" => "Process.wait(fork { childs; exit! })",
    "popen" => 'IO.popen("-") { |io| io ? io.read : childs }',
    "a shell" => 'system("true"); `true`'
  }

  let(:env) { { "RACK_ENV" => "development", "RAILS_ENV" => nil } }
  let(:prelude) { 'REQUEST = { "REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => "profile=cpu" }.freeze' }

  def served(way)
    program_json("rack/children", env: env.merge("WAY" => way, "OUT" => in_box("out")))
  end

  ways.each do |name, way|
    it "does not include the time of its child (#{name})", :timed do
      found = served(way)
      expect(found.map { |it| it.slice(:parent, :childs) }).to eq([{ parent: true, childs: 0 }] * 2)
      expect(found.map { |it| it[:own] }).to all(be_between(158, 230)) # its child's are 80 more
    end
  end

  it "has a profile of its own in a child that continues the request", :timed do
    found = served("childs unless fork")
    parents, others = found.partition { |it| it[:parent] }
    expect(parents.size).to eq(2)
    expect(parents.map { |it| it[:childs] }).to eq([0, 0])
    expect(others.size).to eq(4) # what was left of four requests, one of them the child's own
    expect(others.map { |it| it[:own] + it[:childs] }).to all(be_between(158, 230))
    expect(others.map { |it| it[:childs] }.sort).to match([0, *[be_between(30, 170)] * 3])
  end

  it "ends after duration: in a child that goes on for good" do
    out = run(<<~RUBY, env: env)
      { "requested" => REQUEST, "slow" => {} }.each do |reason, request|
        results = []
        goes_on = lambda do |_env|
          next [200, {}, []] if fork
          wait_for(now + 10_000_000_000) { results.any? && !Profiler.running? }
          $stdout.sync = true
          print_json([reason, results.map { |it| [it.reason, it.labels[:cut]] }, Profiler.running?])
          exit!(0)
        end
        Profiler::Middleware.new(goes_on, slower_than: 0.2, duration: 0.5, out: ->(it) { results << it }).call(request.dup)
        Process.wait
      end
    RUBY
    expect(out.lines.map { |line| JSON.parse(line) }).to eq(%w[requested slow].map { |it| [it, [[it, "after 0.5 s"]], false] })
  end

  it "ends in a child that begins another one" do
    out = run(<<~RUBY, env: env)
      results = []
      served = 0
      serve = lambda do |_env|
        @app.call(REQUEST.dup) if (served += 1) == 1 && fork.nil?
        [200, {}, []]
      end
      @app = Profiler::Middleware.new(serve, out: ->(it) { results << it })
      @app.call(REQUEST.dup)
      Process.waitall
      print_json([results.size, Profiler.running?])
    RUBY
    expect(out.lines.map { |line| JSON.parse(line) }).to eq([[2, false], [1, false]]) # the child's, then the parent's
  end
end
