# frozen_string_literal: true

RSpec.describe "A stopped session" do
  include_context "with a program"

  it "leaves its thread's timer in place for a while, if other threads are profiled", :timed do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "the kernel does not list timers" unless File.exist?("/proc/self/timers")
    expect(run(<<~RUBY)).to eq("beside another: [[2, true], [2, true], [2, true]]\na second later: 1\nalone: [0, true]\npaused, alone: 0\n")
      def timers = File.read("/proc/self/timers").lines.grep(/^signal: \#{Signal.list["PROF"]}\\//).size
      def session = Profiler::Session.start(interval: 10_000, threads: :current, engine: :thread_timer)
      def request
        profile = session.tap { burn }.stop
        burn(15) # what ticks now is for nobody
        [timers, (50..75).cover?(profile.samples.sum(&:cpu) / 1_000_000) && profile.stats[:captured] > 3]
      end
      ready, go = Queue.new, Queue.new
      other = Thread.new { session.tap { ready << true; go.pop }.stop }
      ready.pop
      puts "beside another: \#{Array.new(3) { request }}"
      sleep 1
      puts "a second later: \#{timers}"
      go << true
      other.join
      puts "alone: \#{request}"
      session.pause
      puts "paused, alone: \#{timers}"
    RUBY
  end
end
