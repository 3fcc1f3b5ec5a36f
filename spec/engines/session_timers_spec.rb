# frozen_string_literal: true

RSpec.describe "A stopped session" do
  include_context "with a program"

  it "leaves its thread's timer in place for a while, if other threads are profiled", :timed do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "the kernel does not list timers" unless File.exist?("/proc/self/timers")
    requests, later, alone, paused = run_json(<<~RUBY)
      def timers = File.read("/proc/self/timers").lines.grep(/^signal: \#{Signal.list["PROF"]}\\//).size
      def session = Profiler::Session.start(interval: 10_000, threads: :current, engine: :thread_timer)
      def request
        profile = session.tap { burn }.stop
        burn(15) # what ticks now is for nobody
        [timers, profile.samples.sum(&:cpu), profile.stats[:captured]]
      end
      ready, go = Queue.new, Queue.new
      other = Thread.new { session.tap { ready << true; go.pop }.stop }
      ready.pop
      requests = Array.new(3) { request }
      sleep 1
      later = timers
      go << true
      other.join
      alone = request
      session.pause
      print_json([requests, later, alone, timers])
    RUBY
    profile = [be_between(50_000_000, 75_999_999), be > 3]
    expect([*requests, alone]).to match([*[[2, *profile]] * 3, [0, *profile]])
    expect([later, paused]).to eq([1, 0])
  end
end
