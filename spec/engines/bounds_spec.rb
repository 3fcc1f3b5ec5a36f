# frozen_string_literal: true

RSpec.describe "The footprint of a session" do
  include_context "with a program"

  it "includes at most an eighth of the file descriptors, and none of the highest" do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "there is no perf here" unless Perf.available?
    code = <<~RUBY
      def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      limit, threads, free, wanted = ARGV.map { |it| Integer(it) }
      Process.setrlimit(:NOFILE, limit, limit)
      counters = -> { Dir["/proc/self/fd/*"].count { |it| File.readlink(it).include?("perf_event") rescue false } }
      before = [File.open("/dev/null")]
      before << File.open("/dev/null") until before.last.fileno >= limit - 1 - free
      taken = before.size
      Array.new(threads) { Thread.new { loop { 300.times { |it| it.to_s }; sleep 0.02 } } }
      session = Profiler.start(engine: :perf)
      till = cpu + 0.1 # counters come after 5 ms, and timers tick each 4 to 10
      300.times { |it| it.to_s } while cpu < till
      wait_for { counters.call >= wanted }
      sleep 0.4
      own = counters.call
      files = 0
      begin
        loop { before << File.open("/dev/null"); files += 1 }
      rescue Errno::EMFILE
        before.each(&:close)
      end
      profile = session.stop
      print_json(own: own, left: limit - taken - own - files, refused: profile.stats[:threads_refused],
                 notes: profile.meta[:notes].grep(/few file descriptors/).size, after: counters.call, captured: profile.stats[:captured])
    RUBY
    # A limit, threads, how many of the highest descriptors are free (the system allocates the lowest), and counters to wait for.
    cases = [[1024, 200, 1_000, 128], [64, 30, 44, 8], [512, 10, 23, 1], [1024, 10, 1_000, 11]]
    outcomes = cases.map { |figures| run_json("ARGV.replace(%w[#{figures.join(" ")}])\n#{code}") }
    # Ruby has some of its own, 10 at most.
    expect(outcomes).to match(
      [[128, 1], [8, 1], [be_between(1, 8), 1], [11, 0]].map do |own, notes|
        { own: own, left: be < 13, refused: 0, notes: notes, after: 0, captured: be_positive }
      end
    )
  end

  it "does not grow with the length of the names that an app has for markers and threads" do
    figures = run_json(<<~RUBY)
      rss = -> { GC.start.then { File.read("/proc/self/statm").split[1].to_i * 4096 >> 20 } }
      session = Profiler.start
      long = "é" * 500_000
      Thread.current.name = "n" * 500_000
      Profiler.marker(long)
      before = rss.call
      300.times { Profiler.marker(long) { } } # 300 MB, with the thread's
      more = rss.call - before
      markers = session.stop.markers
      print_json(more: more, markers: markers.size, sizes: markers.flat_map { |it| [it.name.bytesize, it.thread_name.bytesize] }.uniq,
                 valid: markers.map { |it| it.name.valid_encoding? }.uniq,
                 cut: Profiler.run { Profiler.marker("x"); Profiler.marker("y" * 256 + "é") }.markers.map(&:name))
    RUBY
    expect(figures).to match(more: be < 100, markers: 301, sizes: [256], valid: [true], cut: ["x", "y" * 256])
  end

  it "depends on the live threads, not on all that there ever were" do
    figures = run_json(<<~RUBY, timeout: 120)
      visited = -> { Profiler::Testing.states_visited }
      during = lambda do |number|
        queue = Queue.new
        threads = Array.new(number) { Thread.new { queue.pop } }
        Thread.pass until threads.all?(&:stop?)
        count = visited.call
        kept = Thread.new { sleep }
        Thread.pass until kept.stop?
        queue.close
        threads.each(&:join)
        [count, kept]
      end
      session = Profiler.start(engine: :thread_timer)
      before = visited.call
      many, kept = during.(1_000)
      after = visited.call until session.snapshot && after == 2 # Ruby 3.1 may say of the last ones a little late that they have ended
      again, = during.(100)
      own = Thread.new { burn; session.snapshot }.value.samples.sum(&:cpu)
      taken = session.stop.stats
      print_json(before: before, many: many, after: after, again: again, handled: taken[:handler_ns], over: visited.call,
                 refused: taken[:threads_refused], own: own, next: Profiler.run { burn }.stats[:handler_ns])
    RUBY
    # The thread that is kept has the last place of all.
    expect(figures).to match(before: 1, many: 1_001, after: 2, again: 102, handled: be_positive, over: 0,
                             refused: 0, own: be > 50_000_000, next: be_between(1, 60_000_000))
  end
end
