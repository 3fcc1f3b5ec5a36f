# frozen_string_literal: true

# The slow request among many, found after it was slow.
RSpec.describe "The middleware with slower_than:" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    class Quick
      def self.serve(ms) = (burn(ms / 4.0); sleep(ms / 2000.0))
    end
    class Slow
      def self.compute = burn(150)
      def self.query = sleep(0.3)
      def self.serve = (compute; query)
    end
    REQUESTS = Integer(ENV.fetch("REQUESTS", "400"))
    MS = Integer(ENV.fetch("MS", "8"))
    FOUND = []
    def app
      Profiler::Middleware.new(lambda do |env|
        return [200, {}, [Quick.serve(MS).to_s]] unless env["slow"]

        at = [Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond), now]
        Slow.serve
        Profiler.marker("the end") { nil }
        env["took"] = [Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - at[0], now - at[1]]
        [200, {}, ["x"]]
      end, slower_than: 0.4, mode: %i[cpu wall], out: ->(it) { FOUND << it })
    end
    def at_once(app, threads)
      numbers = Queue.new
      REQUESTS.times { |number| numbers << { "slow" => number == REQUESTS / 2 } }
      threads.times { numbers << nil }
      slow = nil
      Array.new(threads) { Thread.new { while (env = numbers.pop) do (app.call(env); slow = env if env["slow"]) end } }.each(&:join)
      slow
    end
  RUBY

  it "keeps the one slow request among many at once: its stack, its waits, who held the GVL, and nothing of others" do
    env = %w[REQUESTS MS].to_h { |it| [it, ENV.fetch(it, nil)] }
    names, times, took, blamed, markers, reasons = run_json(<<~'RUBY', env: env, timeout: 300)
      slow = at_once(app, 32)
      result = FOUND.find { |it| samples_in(it.profile, "Slow.serve").any? }
      blame, own = result.profile.samples.partition { |it| it.labels.key?("waiter") }
      names = own.flat_map { |it| it.frames.map(&:name) }.uniq.grep(/Quick|Slow/).sort
      waited = samples_in(result.profile, "Slow.query").select { |it| it.state == :waiting }.sum(&:wall)
      print_json([names, [own.sum(&:cpu), own.sum(&:wall), waited], slow["took"], blame.sum(&:gvl_blame), result.profile.markers.map(&:name), FOUND.map(&:reason).uniq])
    RUBY
    expect(names).to eq(%w[Slow.compute Slow.query Slow.serve])
    expect(times[0]).to be_within(3_000_000).of(took[0])
    # The middleware's own part is waiting for the GVL too, with 31 others.
    expect(times[1]).to be_between(took[1] - 3_000_000, took[1] + 500_000_000)
    expect(times[2]).to be_within(150_000_000).of(300_000_000)
    expect(blamed).to be > 50_000_000 if RUBY_VERSION >= "3.3"
    expect([markers, reasons]).to eq([["the end"], ["slow"]])
  end

  it "watches all requests with one session, whose samples are in none" do
    sessions, found, after = run_json(<<~'RUBY')
      hold, go = Queue.new, Queue.new
      inner = Profiler::Middleware.new(->(_env) { hold << true; go.pop; [200, {}, []] }, slower_than: 10, out: ->(it) { FOUND << it })
      threads = Array.new(5) { Thread.new { inner.call({}) } }
      5.times { hold.pop }
      sessions = ObjectSpace.each_object(Profiler::Session).count(&:running?)
      threads.each { go << true }
      threads.each(&:join)
      print_json([sessions, FOUND.size, open_sessions])
    RUBY
    expect([sessions, found, after]).to eq([1 + 5, 0, 0])
  end

  it "ends its session a second after the last request, and begins another with the next" do
    states = run_json(<<~'RUBY')
      watched = app
      print_json(Array.new(3) { watched.call({}); [Profiler.running?, open_sessions] })
    RUBY
    expect(states).to eq([[true, 0]] * 3)
  end

  it "watches again after another profiler gave the signal back" do
    kept = run_json(<<~'RUBY')
      watched = Profiler::Middleware.new(->(_env) { burn(20); [200, {}, []] }, slower_than: 0, out: ->(it) { FOUND << it })
      watched.call({})
      trap("PROF", "SYSTEM_DEFAULT")
      trap("PROF") { nil }
      sleep 0.1
      2.times { watched.call({}) }
      trap("PROF", "SYSTEM_DEFAULT")
      open_sessions
      watched.call({})
      print_json(FOUND.map { |it| it.profile.samples.sum(&:cpu) > 10_000_000 })
    RUBY
    expect(kept.values_at(0, -1)).to eq([true, true])
  end
end
