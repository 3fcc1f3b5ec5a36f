# frozen_string_literal: true

# Law 2: a tick ends as a sample or in a counter with a reason, and its time is not lost.
RSpec.describe "A dropped sample" do
  include_context "with a program"

  def run_with(setup, teardown)
    run_json(<<~RUBY)
      def burn(milliseconds) # without garbage, so that all of it is somewhere in a method
        till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) + milliseconds
        10.times { |number| number + 1 } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) < till
      end
      def in_the_dark = burn(300)
      def in_the_light = burn(300)
      profile = Profiler.run do
        #{setup}
        in_the_dark
        #{teardown}
        in_the_light
      end
      dark, light = %w[Object#in_the_dark Object#in_the_light].map { |name| samples_in(profile, name).sum(&:cpu) }
      print_json(profile.stats.merge(dark: dark, light: light, between: profile.samples.sum(&:cpu) - dark - light))
    RUBY
  end

  it "is counted and carried when the ring is full", :timed do
    stats = run_with("Profiler::Testing.hold_collector(true); sleep 0.6; Profiler::Testing.fill_ring",
                     "Profiler::Testing.hold_collector(false); sleep 0.6")
    expect(stats[:dropped_full]).to be >= 3
    expect(stats[:dropped]).to eq(stats[:dropped_full])
    expect(stats[:dark]).to be < 100_000_000
    # The next sample carries the time: in the light, mostly, but a late tick can hit the lines in between.
    expect([stats[:light] - 300_000_000, stats[:between]].max).to be > 150_000_000
    expect(stats[:cpu_ns]).to be_within(20_000_000).of(600_000_000)
  end

  it "is counted and carried when no scratch buffer is free", :timed do
    stats = run_with("Profiler::Testing.hold_scratch(true)", "Profiler::Testing.hold_scratch(false)")
    expect(stats[:dropped_busy]).to be >= 3
    expect(stats[:dark]).to be < 100_000_000
    expect(stats[:cpu_ns]).to be_within(20_000_000).of(600_000_000)
  end

  it "does not occur in an ordinary run, and every delivered tick is accounted for", :timed do
    stats = run_with("", "")
    expect(stats).to include(dropped_full: 0, dropped_busy: 0, dropped_not_ruby: 0, threads_refused: 0, foreign: 0)
    expect(stats[:captured]).to be_within(1).of(stats[:samples])
    # A coarse look: on a busy machine the kernel's ticks are few.
    expect(stats[:dark]).to be_within(150_000_000).of(300_000_000)
  end

  it "is not confused with a cut stack, which says (truncated)" do
    names, truncated = run_json(<<~RUBY)
      def deep(level) = level.zero? ? 2_000_000.times { |number| number.to_s } : deep(level - 1)
      profile = Profiler.run(depth: 128) { deep(3_000) }
      sample = samples_in(profile, "Object#deep").reject { |it| it.state == :gc }.max_by(&:cpu)
      print_json([sample.frames.map(&:name), profile.stats[:truncated]])
    RUBY
    expect(names).to have_attributes(size: 128, last: "<main>").and include("Object#deep")
    expect(names.count("(truncated)")).to eq(1)
    expect(truncated).to be_positive
  end

  it "is not confused with a foreign SIGPROF, which is counted" do
    expect(run_json("print_json(Profiler.run { 3.times { Process.kill(:PROF, Process.pid); sleep 0.01 } }.stats[:foreign])")).to eq(3)
  end
end
