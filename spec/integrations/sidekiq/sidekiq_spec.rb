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
end
