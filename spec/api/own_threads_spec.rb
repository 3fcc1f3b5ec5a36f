# frozen_string_literal: true

RSpec.describe "Threads of the profiler's own" do
  # Prints the last line of what the code prints as JSON.
  def result_of(code, **options)
    result = ruby_child("-e", "require 'profiler'; require 'json'; #{code}", **options)
    expect([result.code, result.err]).to eq [0, ""]
    JSON.parse(result.out, symbolize_names: true)
  end

  # A continuous session whose block works on the session's own thread, in a method called own_work.
  let(:continuous) { <<~RUBY }
    def burn(seconds)
      till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
      100.times { |it| it.to_s } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
    end
    def own_work = burn(0.1)
    profiles = []
    session = Profiler.continuous(mode: %i[cpu wall], period: 0.3, max_overhead: nil, interval: 1_000) { |it| profiles << it; own_work }
    burn(0.05) || sleep(0.05) until profiles.size >= 3
    session.stop
  RUBY

  it "are in no profile, and their time is the profiler's cost" do
    profile = result_of(<<~RUBY)
      #{continuous}
      it = profiles[1]
      puts({ threads: it.by(:thread).map { |row| row[:value][/(.*) \\(/, 1] }, functions: it.top(limit: 0).map { |row| row[:name] }, stats: it.stats }.to_json)
    RUBY
    expect(profile[:threads]).to eq ["main"]
    expect(profile[:functions]).not_to include("Object#own_work")
    expect(profile[:stats][:collector_ns]).to be_between(95_000_000, 400_000_000)
    expect(profile[:stats][:unseen_cpu_ns]).to be < 50_000_000
    expect(profile[:stats][:wall_ns]).to be < 1.05 * profile[:stats][:duration_ns]
  end

  everything = <<~'RUBY'
    require "tmpdir"
    directory = Dir.mktmpdir
    start = lambda do
      Profiler.control(directory: "#{directory}/control")
      Profiler.continuous(period: 60, out: "#{directory}/profiles", to: Class.new { def call(profile) = nil }.new)
      Profiler.flight_recorder(out: "#{directory}/flights")
      Profiler::Pprof.listen("#{directory}/pprof.sock")
    end
    start.call
    Profiler::Middleware.new(->(_env) { [200, {}, []] }, sample_rate: 1, out: "#{directory}/requests").call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/" })
    others = -> { Thread.list - [Thread.current] }
  RUBY

  it "do not hold up a program that joins all threads" do
    seen = result_of(<<~RUBY)
      #{everything}
      worker = Thread.new { sleep 0.2; 5 }
      threads = others.call
      threads.each { |it| it.join(10) }
      values = (threads - [worker]).map(&:value)
      puts({ threads: threads.size, values: values.uniq, worker: worker.value, alive: others.call.size }.to_json)
    RUBY
    expect(seen).to include(threads: be > 4, values: [nil], worker: 5, alive: be > 3)
  end

  it "can be started again after the program killed all threads" do
    result = ruby_child("-e", <<~RUBY, timeout: 30)
      require 'profiler'; require 'json'
      #{everything}
      GC.disable # a collection would start them again
      others.call.each(&:kill)
      sleep 0.01 until others.call.empty?
      GC.enable
      start.call
      profile = Profiler.run { 100_000.times { |it| it.to_s } }
      puts({ threads: others.call.size, running: [Profiler.flight.running?, Profiler.metrics[:profiler_continuous]], samples: profile.stats[:samples].positive? }.to_json)
    RUBY
    expect(JSON.parse(result.out, symbolize_names: true)).to eq({ threads: 4, running: [true, 1], samples: true }), result.err
    expect(result.err.lines).to all(match(/\A\[profiler\] .*because (?:its|the) thread was killed\n\z/).or(match(/\A\[profiler\] a profile was lost/)))
  end

  it "start again by themselves after the program killed all threads, unless it ended the session since then" do
    result = ruby_child("spec/programs/own_threads/killed.rb", timeout: 60)
    expect(JSON.parse(result.out, symbolize_names: true)).to eq(
      { empty: 1, killed: [false, false], revived: true, same: true, delivered: true, after: [false, false, 2] }
    ), result.err
    expect(result.err.lines.uniq.size).to eq(2), result.err
  end

  it "are blamed for no wait for the GVL" do
    profile = result_of(<<~RUBY)
      #{continuous.sub("own_work = burn(0.1)", "own_work = ('aaa' * 200_000).scan(/a{1,3}b?/)")}
      it = profiles.last(2).reduce(:merge)
      puts({ blamed: it.samples.select { |row| row.gvl_blame.positive? }.map(&:thread_name).uniq }.to_json)
    RUBY
    expect(profile[:blamed] - ["main"]).to eq []
  end

  it "allocate nothing that a session counts, and the sum is still the VM's own" do
    counted = result_of(<<~RUBY)
      def own_work = Array.new(50_000) { Object.new }
      def app_work = Array.new(10_000) { Object.new }
      turns = 0
      session = Profiler.continuous(period: 0.2, interval: 10_000, max_overhead: nil) { own_work; turns += 1 }
      profile = Profiler.run(mode: %i[allocations heap], every: 10) do
        @kept = app_work
        10.times { |it| it.to_s } until turns > 2
      end
      session.stop
      names = profile.top(limit: 0, type: :alloc_objects).map { |row| row[:name] }
      puts({ names: names, vm: profile.stats[:vm_objects], sum: profile.totals["alloc_objects"] }.to_json)
    RUBY
    expect(counted[:names]).to include("Object#app_work")
    expect(counted[:names]).not_to include("Object#own_work")
    expect(counted[:sum]).to eq counted[:vm]
  end

  it "are not in recordings of a program that end by themselves" do
    Dir.mktmpdir do |box|
      env = { "PROFILER_MODE" => "wall", "PROFILER_DURATION" => "0.3", "PROFILER_OUT" => "#{box}/a.pb.gz", "PROFILER_QUIET" => "1" }
      ruby_child("-rprofiler/autoload", "-e", "sleep 0.6", env: env)
      shown = JSON.parse(profiler_child("report", "#{box}/a.pb.gz", "--by", "thread", "--json").out)
      expect(shown["values"].map { |row| row["value"][/(.*) \(/, 1] }).to eq ["main"]
    end
  end
end

RSpec.describe "The name of a thread" do
  it "is the same while it lives and when it has ended" do
    result = ruby_child("spec/programs/own_threads/names.rb")
    expect([result.out.lines(chomp: true), result.err]).to eq [
      ["a killed thread's long name", "a worker with a long näme", "named from outside, after its start", "short"], ""
    ]
  end
end
