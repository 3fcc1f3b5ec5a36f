# frozen_string_literal: true

# Requests are slices of a session that ends when there was none for a second.
RSpec.describe "The middleware, after watched requests," do
  before do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "the kernel does not list timers" unless File.exist?("/proc/self/timers")
  end

  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    APP = Profiler::Middleware.new(->(_env) { [200, {}, [burn(20).to_s]] }, slower_than: 10, out: ->(_result) {})
    def request = APP.call({}).first
    # Without the alarm of our ticker, a timer on the monotonic clock that exists as long as its thread.
    def timers = File.read("/proc/self/timers").split(/^(?=ID:)/).count { |timer| timer.match?(/^signal: #{Signal.list["PROF"]}\//) && !timer.match?(/^ClockID: 1$/) }
    def request_and_rest = request.tap { open_sessions }
    2.times { request }
    request_and_rest
  RUBY

  it "leaves no timer behind", :timed do
    left, session, later = run_json(<<~RUBY)
      left = [timers, Profiler.running?]
      burn
      profile = Profiler.run(interval: 10_000) { burn_in_pieces(120) }
      request_and_rest
      wait_for { Thread.list.size == 1 } # its thread is about to end
      print_json([left, profile.stats.values_at(:late, :captured), [timers, Thread.list.size]])
    RUBY
    expect([left, session, later]).to match([[0, false], [0, be > 3], [0, 1]])
  end

  it "does not disturb other sessions, whatever the engine" do
    engines = Perf.among("setitimer", "perf", "ticker", "thread_timer")
    captured, objects, waited, timers = run_json(<<~RUBY)
      left = []
      captured = #{engines.map(&:to_sym)}.map do |engine|
        stats = Profiler.run(engine: engine) { burn(200) }.stats
        left << timers
        request_and_rest
        stats[:captured]
      end
      Thing = Class.new
      allocated = Profiler.run(mode: :allocations, every: 1) { 100.times { Thing.new } }
      left << timers
      request_and_rest
      waits = Profiler.run(mode: :wall) { sleep 0.05 }
      print_json([captured, objects_of(allocated, "Thing"), waits.samples.sum(&:wall), left << timers])
    RUBY
    expect([captured, objects, waited]).to match([[be_positive] * engines.size, 100, be > 50_000_000])
    expect(timers).to eq([0] * (engines.size + 2))
  end

  it "does not disturb new threads, forks, or an app that traps PROF" do
    expect(run_json(<<~RUBY)).to match(child: [200, be_positive, 0], names: %w[main worker], told: nil)
      GC.start
      20.times { Thread.new { burn(1) }.join }
      child = in_fork { [request_and_rest, Profiler.run { burn }.stats[:samples], timers] }
      request_and_rest
      worker = Thread.new { Thread.current.name = "worker"; burn }
      profile = Profiler.run { burn; worker.join }
      request_and_rest
      trap("PROF") { $trapped = true }
      burn
      print_json(child: child, names: profile.samples.map(&:thread_name).uniq.sort, told: $trapped)
    RUBY
  end

  it "continues in a forked child with only the child's requests" do
    children, slow, used = run_json(<<~RUBY)
      outside = in_fork { [timers, Profiler.running?] }
      inside = nil
      results = []
      app = Profiler::Middleware.new(lambda do |_env|
        other = Thread.new { in_fork { [timers, Profiler.running?] } }.value
        inside = [other, in_fork { burn(30); [timers.positive?, Profiler.running?] }]
        burn(30)
        [200, {}, []]
      end, slower_than: 0.01, mode: :cpu, out: ->(it) { results << it })
      request
      used = cpu_of { app.call({}) }
      print_json([[outside, *inside], results.map { |it| it.profile.samples.sum(&:cpu) }, used])
    RUBY
    expect(children).to eq([[0, false], [0, false], [true, true]])
    expect(slow).to match([be_between(25_000_000, used + 5_000_000)])
  end
end
