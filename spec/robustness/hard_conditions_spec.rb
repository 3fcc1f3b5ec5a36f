# frozen_string_literal: true

require "json"

# No crash, and a right profile. The long run is `rake check:stress`.
RSpec.describe "A running session" do
  def run(code, **options)
    result = ruby_child("-e", "require 'profiler'\n#{code}", timeout: 180, **options)
    expect(result.status).to be_success, "#{result.status}\n#{result.err[0, 4_000]}"
    result.out
  end

  it "survives GC.stress" do
    expect(run(<<~RUBY)).to eq("true\n")
      profile = Profiler.run do
        GC.stress = true
        60.times { |turn| [turn.to_s, { turn => "x" }].map(&:to_s) }
        GC.stress = false
      end
      p profile.samples.any? { |sample| sample.state == :gc && sample.frames.first.name == "(garbage collection)" }
    RUBY
  end

  it "profiles 500 short threads", :timed do
    expect(JSON.parse(run(<<~RUBY))).to match("refused" => 0, "missing" => be < 0.01, "more" => be < 2)
      require "json"
      own = 0
      clock = -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) }
      profile = Profiler.run do
        main = clock.call
        50.times do
          Array.new(10) do
            Thread.new { born = clock.call; 3_000.times { |it| it.to_s }; clock.call - born }
          end.each { |thread| own += thread.value }
        end
        own += clock.call - main
      end
      total = profile.samples.sum(&:cpu)
      # Thread start and exit are in the profile and not in the threads' own clocks: it has more, never less.
      puts JSON.generate(refused: profile.stats[:threads_refused], missing: [0, own - total].max.fdiv(own), more: total.fdiv(own))
    RUBY
  end

  it "walks recursion 10,000 deep, and deeper" do
    expect(run(<<~RUBY, env: { "RUBY_THREAD_VM_STACK_SIZE" => "33554432" })).to eq("9000 true true\n12000 true false\n")
      def deep(level) = level.zero? ? 1_000_000.times { |it| it.to_s } : deep(level - 1)
      # 12,000 frames are more than are ever walked: then the root is what is missing.
      [9_000, 12_000].each do |level|
        profile = Thread.new { Profiler.run(depth: 10_000) { deep(level) } }.value
        frames = profile.samples.map(&:frames).max_by(&:size)
        names = frames.map(&:name)
        puts "\#{level} \#{frames.size > 9_000 && frames.size <= 10_000} \#{names.last != "(truncated)"}"
      end
    RUBY
  end

  it "lets a thread make progress whose stack takes longer to walk than its interval", :timed do
    Perf.among("perf", "ticker").each do |engine|
      expect(run(<<~RUBY)).to eq("true true\n"), engine
        def deep(level, &work) = level.zero? ? work.call : deep(level - 1, &work)
        profile = Profiler.run(engine: :#{engine}, interval: 50, depth: 10_000) { deep(8_000) { 3_000_000.times { |it| it + 1 } } }
        stats = profile.stats
        # A fifth is what the handler may take. The rest allows for a noisy machine.
        puts [stats[:samples].positive?, stats[:handler_ns] < stats[:duration_ns] / 2].join(" ")
      RUBY
    end
  end

  it "survives storms of Thread#raise and Thread#kill" do
    expect(run(<<~RUBY)).to eq("true\n")
      Thread.report_on_exception = false
      profile = Profiler.run(interval: 50) do
        Profiler::Testing.hammer(200)
        400.times do |turn|
          threads = Array.new(4) { Thread.new { 2_000.times { |it| it.to_s } } }
          sleep(0.0005)
          threads.each { |it| turn.odd? ? it.kill : it.raise("stop") }
          threads.each { |it| it.join rescue nil }
        end
      end
      p profile.stats[:captured] > 50
    RUBY
  end

  it "stops with pending signals" do
    expect(run(<<~RUBY)).to eq("done\n")
      workers = Array.new(3) { Thread.new { loop { 100.times { |it| it.to_s } } } }
      60.times do
        session = Profiler.start(interval: 50)
        Profiler::Testing.hammer(50)
        sleep 0.005
        session.stop
      end
      puts "done"
    RUBY
  end

  it "survives the stress program" do
    result = ruby_child("spec/programs/stress.rb", timeout: 120, env: { "STRESS_SECONDS" => "8" })
    expect(result.err).to match(/^OK /)
    expect(result.status).to be_success, result.err[0, 4_000]
  end

  describe "with YJIT" do
    before do
      skip "this Ruby has no YJIT" unless ruby_child("-e", "p defined?(RubyVM::YJIT) ? 1 : 0", ruby_options: ["--yjit"]).out == "1\n"
    end

    it "chooses an engine that walks where it is safe, and notes it" do
      skip "the engine is given" if ENV["SPEC_ENGINE"]
      code = <<~RUBY
        def fib(number) = number < 2 ? number : fib(number - 1) + fib(number - 2)
        profile = Profiler.run { fib(29) }
        puts profile.meta[:engine] == "safepoint", profile.meta[:notes].size, profile.samples.flat_map { |it| it.frames.map(&:name) }.include?("Object#fib")
        begin; Profiler.run(engine: :thread_timer) { }; puts "walked"; rescue ArgumentError => e; puts e.message[/not safe here/]; end
      RUBY
      expected = RUBY_VERSION < "3.3" ? "true\n1\ntrue\nnot safe here\n" : "false\n0\ntrue\nwalked\n"
      expect(run(code, ruby_options: ["--yjit"])).to eq(expected)
    end

    it "survives the stress program" do
      result = ruby_child("spec/programs/stress.rb", timeout: 120, env: { "STRESS_SECONDS" => "8" }, ruby_options: ["--yjit"])
      expect(result.status).to be_success, result.err[0, 4_000]
    end
  end

  it "survives the stress program with engine safepoint" do
    env = { "STRESS_SECONDS" => "8", "PROFILER_ENGINE" => "safepoint" }
    result = ruby_child("spec/programs/stress.rb", timeout: 120, env: env)
    expect(result.status).to be_success, result.err[0, 4_000]
  end

  it "conserves CPU time with engine safepoint", :timed do
    expect(run(<<~RUBY)).to eq("safepoint 1 true\n")
      clock = -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) }
      own = clock.call
      profile = Profiler.run(engine: :safepoint) { 600_000.times { |it| it.to_s } }
      own = clock.call - own
      puts [profile.meta[:engine], profile.meta[:notes].size, (profile.samples.sum(&:cpu) - own).abs < 15_000_000 && profile.stats[:captured] > 5].join(" ")
    RUBY
  end
end
