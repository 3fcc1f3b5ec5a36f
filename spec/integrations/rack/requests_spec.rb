# frozen_string_literal: true

# The number of requests in sessions of the whole process, and how long they took.
RSpec.describe "Requests and jobs" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { require_program("rack/requests") }

  it "are counted with their mean and their largest, also those without a sample, and those that failed" do
    endpoints, statuses, routes = run_json(<<~'RUBY')
      app = middleware
      profile = Profiler.run do
        get(app, "/orders/17", seconds: 0.04)
        get(app, "/orders/18", seconds: 0.08, status: 404)
        get(app, "/posts/hello", route: "GET /posts/:slug")
        begin
          get(app, "/raises", raises: true)
        rescue IOError
          nil
        end
        catch(:away) { get(app, "/throws", throws: true) }
      end
      get(app, "/orders/19")
      print_json([requests(profile), *%w[status route].map { |it| requests(profile, it).transform_values(&:first) }])
    RUBY
    expect(endpoints.keys).to contain_exactly(:"GET /orders/:id", :"GET /posts/hello", :"GET /raises", :"GET /throws")
    count, mean, largest = endpoints.delete(:"GET /orders/:id")
    expect(count).to eq(2)
    expect(mean).to be >= 60
    expect(largest).to be >= 80
    expect(2 * mean).to be_between(largest + 39, largest + (largest * 2))
    expect(endpoints.values.map(&:first)).to eq([1, 1, 1])
    expect(statuses).to eq("200": 2, "404": 1)
    expect(routes).to eq("/posts/:slug": 1)
  end

  it "are once in the sessions that profile their thread and have their labels" do
    seen = run_json(<<~'RUBY')
      app = middleware(middleware(middleware, slower_than: 0))
      sessions = { all: {}, other: { threads: Thread.new { sleep }.tap { |it| Thread.pass until it.stop? } }, own: { threads: :current, mode: :allocations },
                   eu: { labels: { region: "eu" } }, us: { labels: { region: "us" } }, path: { labels: { endpoint: "GET /a" } },
                   static: { static_labels: { region: "static" } }, paused: {} }
      sessions.transform_values! { |options| Profiler.start(**options) }
      sessions[:paused].pause
      Profiler.label(region: "eu") { get(app, "/a") }
      get(app, "/b")
      profiles = sessions.transform_values(&:stop)
      print_json([profiles.transform_values { |it| requests(it).transform_values(&:first) }, requests(profiles[:static], "region")])
    RUBY
    both = { "GET /a": 1, "GET /b": 1 }
    expect(seen[0]).to eq(all: both, other: {}, own: both, eu: { "GET /a": 1 }, us: {}, path: { "GET /a": 1 }, static: both, paused: {})
    expect(seen[1].transform_values(&:first)).to eq(static: 2)
  end

  it "are in the period in which they end, and add up in a merge" do
    periods, merged, reports = program_json("rack/periods", env: { "BOX" => box })
    expect(periods).to eq([{ "GET /a": 1 }, { "GET /a": 1 }, { "GET /a": 1, "GET /b": 1, "GET /slow": 1 }, {}])
    expect(merged).to eq("GET /a": 2, "GET /b": 1, "GET /slow": 1)
    expect(reports).to eq([true, true, nil])
  end

  it "are shown by the command line for a continuous session, each period and a merge" do
    run(<<~'RUBY', env: { "BOX" => box })
      app = middleware
      continuous = Profiler.continuous(out: ENV.fetch("BOX"), period: 3_600)
      get(app, "/orders/17", seconds: 0.02)
      get(app, "/orders/18", seconds: 0.06)
      continuous.flush
      get(app, "/orders/18", seconds: 0.02)
      get(app, "/health")
      continuous.flush
      get(app, "/health")
      continuous.stop
    RUBY
    files = Dir[in_box("*.pb.gz")].sort
    expect(files.size).to eq(3), "the last period has requests, and no sample"
    rows = lambda do |file|
      json = JSON.parse(profiler_child("report", file, "--by", "endpoint", "--json").out)
      json["values"].select { |it| it["count"] }.to_h { |it| it.values_at("value", "count") }
    end
    expect(files.map(&rows)).to eq([{ "GET /orders/:id" => 2 }, { "GET /health" => 1, "GET /orders/:id" => 1 }, { "GET /health" => 1 }])
    merged = in_box("merged.pb.gz")
    profiler_child("merge", *files.first(2), "-o", merged)
    expect(rows.call(merged)).to eq("GET /health" => 1, "GET /orders/:id" => 3)
    report = profiler_child("report", merged, "--by", "endpoint", "--full-paths").out
    expect(report).to match(/ENDPOINT +COUNT +MEAN +LARGEST +OF IT/)
    expect(report).to match(/GET \/orders\/:id +3 +[\d.]+ ms +[\d.]+ ms /)
    expect(report).to match(/GET \/health +1 +[\d.]+ [um]s +[\d.]+ [um]s /)
    expect(profiler_child("report", merged, "--by", "thread").out).not_to include("LARGEST")
  end

  it "of a parent are not its children's" do
    child, parent = run_json(<<~'RUBY', env: { "BOX" => box })
      app = middleware
      session = Profiler.start
      get(app, "/parent")
      Process.wait(fork do
        get(app, "/child")
        session.stop.save("#{ENV.fetch("BOX")}/child.pb.gz")
        exit!
      end)
      profiles = [Profiler::Profile.load("#{ENV.fetch("BOX")}/child.pb.gz"), session.stop]
      print_json(profiles.map { |it| requests(it).keys })
    RUBY
    expect([child, parent]).to eq([["GET /child"], ["GET /parent"]])
  end

  it "are counted for Sidekiq too, unless Active Job counts them, or no session runs" do
    jobs = run_json(<<~'RUBY')
      job = Profiler::Sidekiq.new
      perform = ->(**of) { job.call(nil, { "class" => "ImportJob" }.merge(of.transform_keys(&:to_s)), "low") { raise IOError if of[:raises] } }
      perform.call
      profile = Profiler.run do
        perform.call
        perform.call(raises: true) rescue nil
        perform.call(wrapped: "MailJob")
        Profiler.const_set(:InRails, Module.new).const_set(:Jobs, Module.new)
        perform.call(wrapped: "MailJob")
      end
      print_json(%w[job queue].map { |it| requests(profile, it).transform_values(&:first) })
    RUBY
    expect(jobs).to eq([{ ImportJob: 2, MailJob: 1 }, { low: 3 }])
  end
end
