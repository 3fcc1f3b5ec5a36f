# frozen_string_literal: true

require_relative "../support/collector"

# A server under load, its processes' windows in a Collector. FLEET_SECONDS is the length: rake check:fleet takes a minute, and prints.
RSpec.describe "Windows of Puma's processes under load" do
  include Server
  include Tools
  include_context "with a program"
  include_context "with a box"

  # Types of the Collector, and the values of profiler's samples.
  let(:types) { { "cpu" => :cpu, "wall" => :wall, "gvl_wait" => :gvl_wait, "gc" => :gc, "gvl_blame" => :gvl_blame, "alloc_objects" => :alloc_objects, "alloc_space" => :alloc_bytes } }
  let(:seconds) { Integer(ENV.fetch("FLEET_SECONDS", "6")) }

  # Requests of all pages in turn. Each has a connection of its own, or the worker that is there first would have them all.
  def load_with_wrk(port)
    File.write(in_box("pages.lua"), <<~LUA)
      wrk.headers["Connection"] = "close"
      local pages, turn = { "/orders/1", "/search/2", "/cart", "/orders/3" }, 0
      request = function()
        turn = turn + 1
        return wrk.format("GET", pages[turn % #pages + 1])
      end
    LUA
    result = command_child("wrk", "-t1", "-c8", "-d#{seconds}s", "--latency", "-s", in_box("pages.lua"), "http://127.0.0.1:#{port}", timeout: seconds + 60)
    expect(result.out).to match(/[1-9]\d* requests in/)
    expect(result.out).not_to include("Non-2xx")
    expect(result.out).not_to include("Socket errors")
    result.out
  end

  # Each window in the files, by pid and begin: the sums of its types by endpoint and by stack.
  def ours
    run_json(<<~RUBY, chdir: box, timeout: 120)
      types = #{types.transform_values(&:to_s)}
      print_json(Dir["out/*.pb.gz"].map { |file|
        profile = Profiler::Profile.load(file)
        sums = types.to_h do |type, field|
          rows = profile.samples.reject { |row| row[field].zero? }
          sum = ->(&of) { rows.group_by(&of).map { |key, some| [key, some.sum { |row| row[field] }] } }
          [type, { endpoints: sum.call { |row| row.labels["endpoint"] }, stacks: sum.call { |row| row.frames.map(&:name) } }]
        end
        { pid: profile.meta[:pid], at: profile.meta[:started_at_ns], sums: sums.reject { |_, it| it[:endpoints].empty? } }
      })
    RUBY
      .to_h { |item| [[item[:pid], item[:at]], item[:sums].to_h { |type, sums| [type.to_s, sums.transform_values(&:to_h)] }] }
  end

  # The same of the Collector. A type that comes twice for a window differs from our sums.
  def theirs(collector)
    collector.profiles.each_with_object({}) do |profile, all|
      sum = ->(&of) { profile.samples.group_by(&of).transform_values { |some| some.sum(&:value) } }
      sums = (all[[Integer(profile.resource.fetch("process.pid")), profile.time]] ||= {})
      expect(sums).not_to include(profile.sample_type.first)
      sums[profile.sample_type.first] = { endpoints: sum.call { |result| result.attributes["endpoint"] }, stacks: sum.call(&:stack) }
    end
  end

  def accounts(name)
    Dir[in_box("out/*.#{name}.json")].to_h { |file| [Integer(File.basename(file)[/\d+/]), JSON.parse(File.read(file), symbolize_names: true)] }
  end

  def of_sink(metrics, name) = metrics.fetch(name).find { |labels, _number| labels == { sink: "otlp" } }.last

  def describe(windows, counts, wrk)
    pids = windows.keys.map(&:first)
    bytes = counts.values.sum { |count| count[:bytes] }
    puts "#{windows.size} windows of #{pids.uniq.size} processes (#{pids.tally.values.sort.reverse.join(", ")}), #{bytes} bytes sent, #{bytes / windows.size} a window",
         wrk[/^ +50%.*?^ +99%[^\n]*/m].to_s.strip, wrk[%r{^Requests/sec.*}]
  end

  it "are in the Collector once each, with the sums of their types, endpoints and stacks" do
    need("puma")
    need("wrk")
    Dir.mkdir(in_box("out"))
    Collector.open(in_box("collector"), need_collector) do |collector|
      env = { "COLLECTOR" => collector.url, "OUT" => in_box("out"), "PERIOD" => (seconds / 6.0).to_s, "RUBYOPT" => "-W0 -I#{Child::LIB}", "RACK_ENV" => "production" }
      wrk = nil
      log = serving("puma", "-q", "-w", "2", "-t", "4:4", "--preload", "-b", "tcp://127.0.0.1:PORT", File.join(__dir__, "apps/shop.ru"), env: env) do |port|
        wrk = load_with_wrk(port)
      end
      collector.stop

      windows, got, counts, metrics = ours, theirs(collector), accounts("end"), accounts("metrics")
      describe(windows, counts, wrk) if ENV["FLEET_SECONDS"]
      expect(log).not_to include("[profiler]")
      expect(log).not_to include("started in app boot")
      expect(got).to eq(windows)
      by_pid = windows.group_by { |(pid, _at), _sums| pid }.transform_values { |of_one| of_one.map(&:last) }
      endpoints = by_pid.transform_values { |all| all.flat_map { |sums| sums.fetch("cpu", {}).fetch(:endpoints, {}).keys }.compact }
      workers = endpoints.select { |_pid, names| (names & ["GET /orders/:id", "GET /search/:id"]).size == 2 }.keys
      expect(workers.size).to eq(2)
      expect(workers.map { |pid| by_pid[pid].size }).to all(be >= 5)
      by_pid.each do |pid, all|
        expect(counts[pid]).to include(delivered: all.size, lost: 0, waiting: 0, retried: 0)
        expect(of_sink(metrics[pid], :profiler_windows_lost_total)).to eq(0)
        expect(of_sink(metrics[pid], :profiler_windows_waiting)).to eq(0)
        expect(all.size - of_sink(metrics[pid], :profiler_windows_delivered_total)).to be_between(0, 1) # the last one comes after a flush
      end
      expect(windows.values.flat_map(&:keys).uniq).to include("cpu", "alloc_objects", "alloc_space")
    end
  end
end
