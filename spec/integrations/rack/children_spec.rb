# frozen_string_literal: true

require "json"

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

  def served(way)
    JSON.parse(run(<<~RUBY, env: { "RACK_ENV" => "development", "RAILS_ENV" => nil }), symbolize_names: true)
      require "json"
      def own = burn(80)
      def childs = burn(80)
      way = -> { #{way} }
      app = Profiler::Middleware.new(->(env) { own; way.(); own; [200, {}, [Process.pid.to_s]] }, out: #{in_box("out").inspect})
      get = -> { app.call("REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => "profile=cpu") }
      sole = Process.pid
      get.()
      unless Process.pid == sole # the child serves as well, by itself
        served = get.()[0] == 200
        Process.waitall # its own child writes a file too
        exit!(served)
      end
      Process.waitall
      get.() # nothing of the first is left
      exit! unless Process.pid == sole
      Process.waitall
      profiles = Dir["#{in_box("out")}/*"].map { |file| Profiler::Profile.load(file) }
      ms = ->(rows) { rows.sum(&:cpu) / 1_000_000 }
      childs = ->(row) { row.frames.any? { |it| it.name == "Object#childs" } }
      puts JSON.generate(profiles.map { |it| { parent: it.meta[:pid] == sole, childs: ms.(it.samples.select(&childs)), own: ms.(it.samples.reject(&childs)) } })
    RUBY
  end

  ways.each do |name, way|
    it "does not include the time of its child (#{name})", :timed do
      found = served(way)
      expect(found.map { |it| it.slice(:parent, :childs) }).to eq([{ parent: true, childs: 0 }] * 2)
      expect(found.map { |it| it[:own] }).to all(be_between(159, 180))
    end
  end

  it "has a profile of its own in a child that continues the request", :timed do
    found = served("childs unless fork")
    parents, others = found.partition { |it| it[:parent] }
    expect(parents.size).to eq(2)
    expect(parents.map { |it| it[:childs] }).to eq([0, 0])
    expect(others.size).to eq(4) # what was left of four requests, one of them the child's own
    expect(others.map { |it| it[:own] + it[:childs] }).to all(be_between(159, 190))
    expect(others.map { |it| it[:childs] }.sort).to match([0, *[be_between(30, 100)] * 3])
  end

  it "ends in a child that begins another one" do
    expect(run(<<~RUBY, env: { "RACK_ENV" => "development", "RAILS_ENV" => nil })).to eq("[2, false]\n[1, false]\n")
      results = []
      get = -> { @app.call("REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => "profile=cpu") }
      served = 0
      serve = lambda do |_env|
        get.() if (served += 1) == 1 && fork.nil?
        [200, {}, []]
      end
      @app = Profiler::Middleware.new(serve, out: ->(it) { results << it })
      get.()
      Process.waitall
      p [results.size, Profiler.running?]
    RUBY
  end
end
