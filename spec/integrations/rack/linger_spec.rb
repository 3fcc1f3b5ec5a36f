# frozen_string_literal: true

# Where each request has a session, what the next one needs is left in place for a while; but nothing that could be noticed.
RSpec.describe "The middleware, after a profiled request," do
  before do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "the kernel does not list timers" unless File.exist?("/proc/self/timers")
  end

  include_context "with a program"

  def after_requests(code)
    run(<<~'RUBY' + code)
      APP = Profiler::Middleware.new(->(_env) { [200, {}, [burn(20).to_s]] }, slower_than: 10, out: ->(_result) {})
      def request = APP.call({}).first
      def timers = File.read("/proc/self/timers").lines.grep(/^signal: #{Signal.list["PROF"]}\//).size
      3.times { request }
    RUBY
  end

  it "keeps the timer for a while, without sampling anything", :timed do
    expect(after_requests(<<~'RUBY')).to eq("1 false\n[0, true]\n0 1\n")
      puts "#{timers} #{Profiler.running?}"
      burn
      profile = Profiler.run(interval: 10_000) { burn }
      p [profile.stats[:late], profile.stats[:captured] > 3]
      request
      till = now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      sleep 0.05 while Thread.list.size > 1 && Process.clock_gettime(Process::CLOCK_MONOTONIC) < till + 10
      puts "#{timers} #{Thread.list.size}"
    RUBY
  end

  it "does not disturb other sessions, whatever the engine", :timed do
    engines = Perf.among("setitimer", "perf", "ticker", "thread_timer")
    expect(after_requests("ENGINES = #{engines}.map(&:to_sym)\n" + <<~'RUBY')).to eq("#{engines.map { |it| "[:#{it}, true, 0]\n" }.join}100 0\n[true, 0]\n")
      ENGINES.each do |engine|
        seen = Profiler.run(engine: engine) { burn(200) }.stats[:captured] > 3
        p [engine, seen, timers]
        request
      end
      Thing = Class.new
      made = Profiler.run(mode: :allocations, every: 1) { 100.times { Thing.new } }
      puts "#{made.samples.select { |it| it.labels["class"] == "Thing" }.sum(&:alloc_objects)} #{timers}"
      request
      waits = Profiler.run(mode: :wall) { sleep 0.05 }
      p [waits.samples.sum(&:wall) > 50_000_000, timers]
    RUBY
  end

  it "does not disturb new threads, forks, or an app that traps PROF", :timed do
    expect(after_requests(<<~'RUBY')).to eq("[200, true, 0]\n0\n[\"main\", \"worker\"]\nnil\n")
      GC.start
      20.times { Thread.new { burn(1) }.join }
      child = fork do
        p [request, Profiler.run { burn }.stats[:samples] > 3, timers]
        exit!(0)
      end
      Process.wait(child)
      puts $?.exitstatus
      request
      worker = Thread.new { Thread.current.name = "worker"; burn }
      profile = Profiler.run { burn; worker.join }
      p profile.samples.map(&:thread_name).uniq.sort
      request
      trap("PROF") { $told = true }
      burn
      p $told
    RUBY
  end
end
