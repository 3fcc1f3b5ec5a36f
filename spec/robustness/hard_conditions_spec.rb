# frozen_string_literal: true

# No crash, and a right profile. The long run is `rake check:stress`.
RSpec.describe "A running session" do
  include_context "with a program"

  it "survives GC.stress" do
    leaves = run_json(<<~RUBY, timeout: 180)
      profile = Profiler.run do
        GC.stress = true
        60.times { |turn| [turn.to_s, { turn => "x" }].map(&:to_s) }
        GC.stress = false
      end
      print_json(profile.samples.select { |sample| sample.state == :gc }.map { |sample| sample.frames.first.name }.uniq)
    RUBY
    expect(leaves).to eq(["(garbage collection)"])
  end

  it "profiles 500 short threads", :timed do
    own, total, refused = run_json(<<~RUBY)
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
      print_json([own, profile.samples.sum(&:cpu), profile.stats[:threads_refused]])
    RUBY
    # Thread start and exit are in the profile and not in the threads' own clocks: it has more, never less.
    expect(total).to be_between(own * 0.99, own * 2)
    expect(refused).to eq(0)
  end

  it "walks recursion 10,000 deep, and deeper" do
    whole, cut = run_json(<<~RUBY, env: { "RUBY_THREAD_VM_STACK_SIZE" => "33554432" }, timeout: 180)
      def deep(level) = level.zero? ? 1_000_000.times { |it| it.to_s } : deep(level - 1)
      stacks = [9_000, 12_000].map do |level|
        profile = Thread.new { Profiler.run(depth: 10_000) { deep(level) } }.value
        profile.samples.map(&:frames).max_by(&:size).then { |frames| [frames.size, frames.last.name] }
      end
      print_json(stacks)
    RUBY
    expect(whole).to match([be_between(9_001, 10_000), /<main>\z/])
    # 12,000 frames are more than are ever walked: then the root is what is missing.
    expect(cut).to match([be_between(9_001, 10_000), "(truncated)"])
  end

  it "lets a thread make progress whose stack takes longer to walk than its interval", :timed do
    Perf.among("perf", "ticker").each do |engine|
      stats = run_json(<<~RUBY, timeout: 180)
        def deep(level, &work) = level.zero? ? work.call : deep(level - 1, &work)
        print_json(Profiler.run(engine: :#{engine}, interval: 50, depth: 10_000) { deep(8_000) { 3_000_000.times { |it| it + 1 } } }.stats)
      RUBY
      # A fifth is what the handler may take. The rest allows for a noisy machine.
      expect(stats).to include(samples: be_positive, handler_ns: be_between(1, stats[:duration_ns] / 2)), engine
    end
  end

  it "survives storms of Thread#raise and Thread#kill" do
    captured = run_json(<<~RUBY, timeout: 180)
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
      print_json(profile.stats[:captured])
    RUBY
    expect(captured).to be > 50
  end

  it "lets processes end that do not stop it" do
    # Ruby 4.0 unmaps the main thread's stack as it ends. A third of these children died of a tick that came then.
    signals = run_json(<<~RUBY, timeout: 180)
      Profiler.start(interval: 50)
      children = Array.new(200) { fork { burn(2) }.then { |pid| Process.wait2(pid).last } }
      print_json(children.map(&:termsig).tally.to_a)
    RUBY
    expect(signals).to eq([[nil, 200]])
  end

  it "stops with pending signals" do
    expect(run(<<~RUBY)).to eq("done\n")
      Array.new(3) { Thread.new { loop { 100.times { |it| it.to_s }; Thread.pass } } } # or each stop waits for three time slices
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
    result = ruby_child("spec/programs/stress/heap.rb", timeout: 120, env: { "STRESS_SECONDS" => "5" })
    expect(result.err).to match(/^OK /)
    expect(result.status).to be_success, result.err[0, 4_000]
  end

  it "goes on while the heap is dumped, and while objects are asked what they refer to" do
    expect(run_program("heap/dumped", timeout: 120)).to eq("dumped\n")
  end

  describe "with YJIT" do
    before do
      skip "this Ruby has no YJIT" unless ruby_child("-e", "p defined?(RubyVM::YJIT) ? 1 : 0", ruby_options: ["--yjit"]).out == "1\n"
    end

    it "chooses an engine that walks stacks where it is safe, and notes it" do
      skip "the engine is given" if ENV["SPEC_ENGINE"]
      output = run_json(<<~RUBY, ruby_options: ["--yjit"])
        def fib(number) = number < 2 ? number : fib(number - 1) + fib(number - 2)
        profile = Profiler.run { 20.times { fib(29) } } # 7 ms each
        print_json(engine: profile.meta[:engine], notes: profile.meta[:notes].size, found: samples_in(profile, "Object#fib").any?,
                   timer: error { Profiler.run(engine: :thread_timer) { } })
      RUBY
      anywhere = RUBY_VERSION >= "3.3"
      expect(output).to match(engine: anywhere ? /perf|ticker|timer/ : "safepoint", notes: anywhere ? 0 : 1, found: true,
                            timer: anywhere ? "none" : /\AArgumentError: .*not safe here/)
    end

    it "survives the stress program" do
      result = ruby_child("spec/programs/stress/heap.rb", timeout: 120, env: { "STRESS_SECONDS" => "5" }, ruby_options: ["--yjit"])
      expect(result.status).to be_success, result.err[0, 4_000]
    end
  end

  it "survives the stress program with engine safepoint" do
    env = { "STRESS_SECONDS" => "5", "PROFILER_ENGINE" => "safepoint" }
    result = ruby_child("spec/programs/stress/heap.rb", timeout: 120, env: env)
    expect(result.status).to be_success, result.err[0, 4_000]
  end

  it "conserves CPU time with engine safepoint", :timed do
    inside, around, cpu, meta, stats = run_json(<<~RUBY)
      inside = profile = nil
      around = cpu_of { profile = Profiler.run(engine: :safepoint) { inside = cpu_of { 2_000_000.times { |it| it.to_s } } } }
      print_json([inside, around, profile.samples.sum(&:cpu), profile.meta, profile.stats])
    RUBY
    expect(cpu).to be_between(inside - 5_000_000, around + 5_000_000)
    expect(meta).to include(engine: "safepoint", notes: have_attributes(size: 1))
    expect(stats).to include(captured: be > 5)
  end
end
