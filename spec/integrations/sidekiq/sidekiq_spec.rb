# frozen_string_literal: true

require "json"
require "socket"
require_relative "../../support/server"
require_relative "../../support/tools"

RSpec.describe "Profiler::Sidekiq" do
  include_context "with a box"
  include Server
  include Tools

  include_context "with a program"

  it "reads an option that Sidekiq does not use itself" do
    expect(run(<<~RUBY)).to eq("[\"profile\", \"done\", 0]\n[\"profiler\", \"done\", 1]\n[\"profiler_options\", \"done\", 0]\n")
      require "profiler/sidekiq"
      %w[profile profiler profiler_options].each do |option|
        results = []
        middleware = Profiler::Sidekiq.with(out: ->(it) { results << it }).new
        p [option, middleware.call(nil, { "class" => "ImportJob", option => true }, "default") { "done" }, results.size]
      end
    RUBY
  end

  # A Redis of our own, gone with the example.
  def with_redis
    need "redis-server"
    port = free_port
    pid = Process.spawn("redis-server", "--port", port.to_s, "--bind", "127.0.0.1", "--save", "", "--dir", box, %i[out err] => File::NULL)
    wait_until { TCPSocket.new("127.0.0.1", port).close || true rescue false }
    yield "redis://127.0.0.1:#{port}/0"
  ensure
    if pid
      Process.kill(:TERM, pid)
      Process.wait(pid)
    end
  end

  it "profiles jobs that request it or were slow, through a real Redis", :timed do
    need "sidekiq"
    jobs = File.join(__dir__, "jobs.rb")
    with_redis do |url|
      env = { "REDIS_URL" => url, "OUT" => in_box("out"), "RUBYOPT" => "-W0" }
      pid = Process.spawn(Child::CLEAN.merge(env), "sidekiq", "-r", jobs, "-c", "4", chdir: box, %i[out err] => in_box("log"))
      begin
        pushed = ruby_child("-e", <<~RUBY, jobs, env: env)
          require ARGV[0]
          ImportJob.set("profiler" => true).perform_async("one")
          ImportJob.set("profiler" => "mode=wall,cpu;interval=500").perform_async("two")
          ImportJob.set("profiler" => true).perform_async("may not")
          ImportJob.perform_async("slow")
          ImportJob.perform_async("quick")
        RUBY
        expect(pushed.status).to be_success, pushed.err
        wait_until(60) { Dir[in_box("out/*.pb.gz")].size == 3 && Dir[in_box("out.*.done")].size == 4 }
      rescue Child::TimedOut => e
        raise e.class, "#{e.message}\n#{files}\n#{Dir[in_box("out/*")]}\n#{File.read(in_box("log"))}"
      ensure
        Process.kill(:TERM, pid)
        Process.wait(pid)
      end
    end
    jobs = run_json(<<~'RUBY', chdir: box)
      # Rows without time are what other jobs did while this one waited for the GVL.
      rows = Dir["out/*.pb.gz"].map { |file| Profiler::Profile.load(file).samples.select { |it| (it.cpu + it.wall).positive? } }
      print_json(rows.map do |it|
        [it.flat_map { |row| row.frames.map(&:name) }.grep(/\AWork\.(?!burn)/).uniq, it.map { |row| row.labels.slice("job", "queue") }.uniq, it.sum(&:cpu) / 1_000_000, it.sum(&:wall) / 1_000_000]
      end)
    RUBY
    expect(jobs.map(&:first)).to contain_exactly(["Work.one"], ["Work.two"], ["Work.slow"])
    expect(jobs.map { |it| it[1] }).to all(eq([{ job: "ImportJob", queue: "default" }]))
    cpu = jobs.to_h { |names, _labels, *ms| [names[0], ms] }
    expect(cpu["Work.one"][0]).to be_between(39, 400)
    expect(cpu["Work.two"]).to all(be >= 39)
    expect(cpu["Work.slow"][0]).to be_between(999, 1_400)
  end

  describe "with the Profiles tab of Sidekiq's Web UI" do
    # Runs jobs, and yields what the Web UI reads then.
    #
    # @param push [String] a program that pushes jobs
    # @param count [Integer] of profiles
    # @yieldparam records [Hash{String => Hash}] by token
    def with_profiles(push, count)
      need "sidekiq"
      with_redis do |url|
        env = { "REDIS_URL" => url, "OUT" => in_box("out"), "PROFILES" => "1", "RUBYOPT" => "-W0" }
        pid = Process.spawn(Child::CLEAN.merge(env), "sidekiq", "-r", File.join(__dir__, "jobs.rb"), "-c", "4", chdir: box, %i[out err] => in_box("log"))
        kept = ruby_child("-e", push + <<~'RUBY', File.join(__dir__, "jobs.rb"), count.to_s, env: env, chdir: box)
          require "json"
          require "zlib"
          keys = nil
          till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
          sleep 0.1 until (keys = Sidekiq.redis { |it| it.zrange("profiles", 0, -1) }).size == ARGV[1].to_i || Process.clock_gettime(Process::CLOCK_MONOTONIC) > till
          records = keys.map do |key|
            record, seconds = Sidekiq.redis { |it| [it.hgetall(key), it.ttl(key)] }
            # As bytes. The client marks them as UTF-8, and then gunzip of Ruby 3.1 skips ten characters of the header instead of
            # ten bytes. It fails whenever two bytes of the time in that header happen to be one character.
            data = record.delete("data").b
            File.binwrite("#{record["token"]}.json.gz", data)
            record.merge("key" => key, "ttl" => seconds, "bytes" => data.bytesize, "data" => JSON.parse(Zlib.gunzip(data)))
          end
          # Sidekiq 7 logs to standard output.
          File.write("records", JSON.generate(records))
        RUBY
        expect(kept.status).to be_success, kept.err
        yield JSON.parse(File.read(in_box("records")), symbolize_names: true).to_h { |it| [it[:token], it] }
      ensure
        Process.kill(:TERM, pid)
        Process.wait(pid)
      end
    end

    it "keeps profiles, even of jobs that fail" do
      with_profiles(<<~RUBY, 2) do |records|
        require ARGV[0]
        ImportJob.set("profile" => "me").perform_async("one")
        ImportJob.set("profile" => "you", "profiler_options" => { "mode" => "retained" }).perform_async("two")
        ImportJob.set("profile" => "me").perform_async("may not")
        ImportJob.set("profile" => "me", "profiler_options" => { "mode" => "tea" }).perform_async("quick")
      RUBY
        expect(records.keys).to contain_exactly("me", "you"), File.read(in_box("log"))
        records.each_value do |it|
          expect(it).to include(type: "ImportJob", key: "#{it[:token]}-#{it[:jid]}", size: it[:bytes].to_s, ttl: be_within(60).of(86_400))
          expect(Float(it[:elapsed])).to be_between(0.03, 5)
          expect(it[:data]).to include(:meta, :threads)
        end
        expect(JSON.generate(records.dig("me", :data))).to include("Work.one")
        expect(File.read(in_box("log"))).to match(/on purpose/).and match(/a job was not profiled|tea/)
      end
    end

    it "keeps what the Firefox Profiler loads, which the Web UI opens" do
      with_profiles(<<~RUBY, 1) do
        require ARGV[0]
        ImportJob.set("profile" => "me").perform_async("one")
      RUBY
        firefox(in_box("me.json.gz")) do |ask|
          expect(ask["profile", "info"]).to include("sidekiq", "processor")
          threads = ask["profile", "info"].scan(/\bt-\d+/).uniq
          tops = threads.flat_map { |it| JSON.parse(ask["thread", "samples", "--json", "--include-idle", "--limit", "100", "--thread", it])["topFunctionsByTotal"] }
          one = tops.select { |it| it["name"] == "Work.one" }
          expect(one.sum { |it| it["totalSamples"] }).to be_between(39, 400)
        end
      end
    end
  end
end
