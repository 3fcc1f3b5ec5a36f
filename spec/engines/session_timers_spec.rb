# frozen_string_literal: true

RSpec.describe "A stopped session" do
  include_context "with a program"

  it "ends its thread's timer, if other threads are profiled too" do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "the kernel does not list timers" unless File.exist?("/proc/self/timers")
    requests, alone, paused = run_json(<<~RUBY)
      def timers = File.read("/proc/self/timers").split(/^(?=ID:)/).count { |timer| timer.match?(/^signal: \#{Signal.list["PROF"]}\\//) && !timer.match?(/^ClockID: 1$/) }
      def session = Profiler::Session.start(interval: 10_000, threads: :current, engine: :thread_timer)
      def request
        profile = nil
        used = cpu_of { profile = session.tap { burn_in_pieces(120) }.stop }
        burn(15) # no session profiles this
        [timers, profile.samples.sum(&:cpu).between?(100_000_000, used + 1_000_000), profile.stats[:captured]]
      end
      ready, go = Queue.new, Queue.new
      other = Thread.new { session.tap { ready << true; go.pop }.stop }
      ready.pop
      requests = Array.new(3) { request }
      go << true
      other.join
      alone = request
      session.pause
      print_json([requests, alone, timers])
    RUBY
    profile = [true, be > 3]
    expect([*requests, alone]).to match([*[[1, *profile]] * 3, [0, *profile]])
    expect(paused).to eq(0)
  end
end
