# frozen_string_literal: true

RSpec.describe "The middleware, after a profiled request," do
  before do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "the kernel does not list timers" unless File.exist?("/proc/self/timers")
  end

  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    APP = Profiler::Middleware.new(->(_env) { [200, {}, [burn(20).to_s]] }, slower_than: 10, out: ->(_result) {})
    def request = APP.call({}).first
    def timers = File.read("/proc/self/timers").lines.grep(/^signal: #{Signal.list["PROF"]}\//).size
    3.times { request }
  RUBY

  it "leaves no timer behind" do
    left, session, later = run_json(<<~RUBY)
      left = [timers, Profiler.running?]
      burn
      profile = Profiler.run(interval: 10_000) { burn }
      request
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      sleep 0.05 while Thread.list.size > 1 && Process.clock_gettime(Process::CLOCK_MONOTONIC) < till + 10
      print_json([left, profile.stats.values_at(:late, :captured), [timers, Thread.list.size]])
    RUBY
    expect([left, session, later]).to match([[0, false], [0, be > 3], [0, 1]])
  end

  it "does not disturb other sessions, whatever the engine", :timed do
    engines = Perf.among("setitimer", "perf", "ticker", "thread_timer")
    captured, objects, waited, timers = run_json(<<~RUBY)
      left = []
      captured = #{engines.map(&:to_sym)}.map do |engine|
        stats = Profiler.run(engine: engine) { burn(200) }.stats
        left << timers
        request
        stats[:captured]
      end
      Thing = Class.new
      allocated = Profiler.run(mode: :allocations, every: 1) { 100.times { Thing.new } }
      left << timers
      request
      waits = Profiler.run(mode: :wall) { sleep 0.05 }
      print_json([captured, objects_of(allocated, "Thing"), waits.samples.sum(&:wall), left << timers])
    RUBY
    expect([captured, objects, waited]).to match([[be > 3] * engines.size, 100, be > 50_000_000])
    expect(timers).to eq([0] * (engines.size + 2))
  end

  it "does not disturb new threads, forks, or an app that traps PROF", :timed do
    expect(run_json(<<~RUBY)).to match(child: [200, be > 3, 0], names: %w[main worker], told: nil)
      GC.start
      20.times { Thread.new { burn(1) }.join }
      child = in_fork { [request, Profiler.run { burn }.stats[:samples], timers] }
      request
      worker = Thread.new { Thread.current.name = "worker"; burn }
      profile = Profiler.run { burn; worker.join }
      request
      trap("PROF") { $trapped = true }
      burn
      print_json(child: child, names: profile.samples.map(&:thread_name).uniq.sort, told: $trapped)
    RUBY
  end
end
