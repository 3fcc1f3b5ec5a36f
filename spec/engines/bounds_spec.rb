# frozen_string_literal: true

RSpec.describe "The footprint of a session" do
  include_context "with a program"

  it "includes at most an eighth of the file descriptors, and none of the highest" do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "there is no perf here" unless Perf.available?
    # A limit, threads, how many of the highest descriptors are free (the system allocates the lowest), and counters to wait for.
    cases = [[1024, 200, 1_000, 128], [64, 30, 44, 8], [512, 10, 23, 1], [1024, 10, 1_000, 11]]
    outcomes = cases.map { |figures| program_json("engines/descriptors", *figures.map(&:to_s)) }
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
    figures = program_json("engines/live_threads", timeout: 120)
    # The thread that is kept has the last place of all.
    expect(figures).to match(before: 1, many: 1_001, after: 2, again: 102, handled: be_positive, over: 0,
                             refused: 0, own: be > 50_000_000, next: be_between(1, 60_000_000))
  end
end
