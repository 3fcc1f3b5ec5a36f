# frozen_string_literal: true

require "tmpdir"

# The facts of mode: :allocations about objects, besides their number (spec/laws/objects_spec.rb).
RSpec.describe "mode: :allocations" do
  include_context "with a program"

  it "can start while every allocation collects garbage" do
    # The VM aborts where a mark function makes an object, as the first question for a number of it does.
    options = ["threads: :current", "labels: { a: 1 }", "every_bytes: 4_096"]
    result = run_json(<<~RUBY)
      sessions = [#{options.map { |option| "-> { Profiler::Session.start(mode: :allocations, #{option}) }" }.join(", ")}]
      GC.stress = true
      started = sessions.map(&:call)
      GC.stress = false
      print_json(started.map { |it| it.stop.class.name })
    RUBY
    expect(result).to eq(["Profiler::Profile"] * options.size)
  end

  it "counts as many objects as the VM, even after an earlier session" do
    # The first call of the VM allocates objects, which count for the other session.
    objects, vm_objects = run_json(<<~RUBY)
      other = Profiler.start(mode: :allocations, every: 1, threads: :current)
      session = Profiler.start(mode: :allocations, every: 1)
      10.times { Object.new }
      print_json(session.stop.stats.values_at(:objects, :vm_objects))
      other.discard
    RUBY
    expect(objects).to eq(vm_objects).and be >= 10
  end

  it "knows the class of every kind of object" do
    classes = run_json(<<~RUBY)
      Named = Struct.new(:it)
      module Outer; class Inner; def self.name = "liar"; end; end
      anonymous = Class.new(Named)
      make = lambda do
        100.times { Outer::Inner.new; Named.new(1); anonymous.new(2); Hash.new; [3]; "4"; 5.5e300 * 2; 2**80; 1..it = 6; /7\#{it}/; Object.new }
        "text".each_char { } ; [1, 2].each.next; "a".match(/a/); Thread.new { }.join; Class.new; Complex(1, 2); Rational(1, 3)
      end
      make.call
      profile = Profiler.run(mode: :allocations, every: 1) { make.call }
      print_json(profile.by(:class, limit: 0).map { |it| it[:value] })
    RUBY
    expect(classes).to include(*%w[Outer::Inner Named String Array Hash Object Integer Float Regexp MatchData Thread Class Complex Rational],
                               "#<anonymous subclass of Named>", "(internal to Ruby)")
    expect(classes.grep(/0x\h{4}/)).to eq([])
  end

  it "weighs objects by the bytes of their slots" do
    rows = run_json(<<~RUBY)
      big = Class.new { def initialize = (@a = @b = @c = @d = @e = @f = @g = @h = 1) }
      3.times { big.new }
      profile = Profiler.run(mode: :allocations, every: 1) { 10.times { big.new } }
      print_json(profile.samples.select { |it| it.labels["class"] == "#<anonymous subclass of Object>" }.map { |it| [it.alloc_objects, it.alloc_bytes] })
    RUBY
    expect(rows).to eq([[10, RUBY_VERSION < "3.2" ? 400 : 800]])
  end

  it "samples by bytes with every_bytes:" do
    exact, bytes, report = run_json(<<~RUBY)
      small = Class.new { def self.name = "x"; def initialize = @a = 1 }
      large = Class.new { def initialize = (@a = @b = @c = @d = @e = @f = @g = @h = 1) }
      work = -> { 60_000.times { small.new; 2.times { large.new } } }
      work.call
      exact = Profiler.run(mode: :allocations, every: 1, &work)
      bytes = Profiler.run(mode: :allocations, every_bytes: 2_048, &work)
      print_json([exact.stats, bytes.stats, bytes.report.split.join(" ")])
    RUBY
    expect(bytes[:object_bytes]).to be_within(20_000).of(exact[:object_bytes]) # but for what the sessions themselves make, the same
    expect(bytes[:objects]).to be_within(exact[:objects] / 50).of(exact[:objects]) # each sample says how large one is
    expect(bytes).to include(every: 0, every_bytes: 2_048)
    expect(report).to include("one per 2,048 bytes sampled")
  end

  it "samples often enough for concurrent sessions with different every:" do
    objects, bytes = run_json(<<~RUBY)
      bytes = Profiler.start(mode: :allocations, every_bytes: 64_000)
      objects = Profiler.start(mode: :allocations, every: 50)
      100_000.times { Object.new }
      by_objects = objects.stop.stats
      100_000.times { Object.new }
      print_json([by_objects, bytes.stop.stats])
    RUBY
    expect(objects).to include(objects: objects[:vm_objects], samples: be >= 2_000)
    expect(bytes[:objects]).to be_within(2_000).of(bytes[:vm_objects]).and be > 198_000
  end

  it "combines with time in one profile, in samples of their own" do
    figures = run_json(<<~RUBY)
      profile = Profiler.run(mode: %i[cpu allocations]) { 300_000.times { |it| "text \#{it}" } }
      sums = profile.samples.partition { |it| it.alloc_objects.positive? }.map { |rows| [rows.sum(&:alloc_objects), rows.sum(&:cpu)] }
      print_json(sums: sums, stats: profile.stats, modes: profile.meta[:modes])
    RUBY
    expect(figures).to include(sums: [[figures[:stats][:vm_objects], 0], [0, figures[:stats][:cpu_ns]]], modes: %w[cpu allocations])
    expect(figures[:stats]).to include(cpu_ns: be > 1_000_000, vm_objects: be >= 300_000)
  end

  it "counts only the threads and labels of the session" do
    expect(run_json(<<~RUBY)).to eq([200, 300])
      go = Queue.new
      other = Thread.new { go.pop; 10_000.times { Object.new } }
      sleep 0.01 until other.stop?
      mine = Profiler.start(mode: :allocations, every: 1, threads: :current)
      labelled = Profiler.start(mode: :allocations, every: 1, labels: { part: "two" })
      go << 1
      other.join
      100.times { Object.new }
      Profiler.label(part: "two") { 200.times { Object.new } }
      print_json([labelled, mine].map { |it| objects_of(it.stop, "Object") })
    RUBY
  end

  # While only objects are sampled, threads are not hooked: each is registered at its first counted allocation.
  it "samples threads that start and exit during the session, with their names and labels, also beside a session of time" do
    counts = program_json("allocations/short_threads")
    expect(counts).to match_array(%w[t0 t1 t2 t3].flat_map { |name| [[name, nil, 1_000], [name, "job #{name}", 2_000]] })
  end

  # A question about a thread that has ended reads memory that has become something else.
  it "forgets threads that exited unobserved, so that a session of time does not take them for live ones" do
    expect(run_json(<<~RUBY)).to eq(["main"])
      waiting = Array.new(200) { Thread.new { sleep } }
      Thread.pass until waiting.all?(&:stop?)
      objects = Profiler.start(mode: :allocations, every: 1_000)
      waiting.each(&:kill).each(&:join)
      waiting = nil
      strings = Array.new(5) { GC.start; Array.new(50_000) { |number| "SATOR" * (number % 5) } }
      time = Profiler.start(mode: %i[cpu wall])
      sleep 0.01
      print_json(time.stop.samples.select { |it| it.wall > 1_000_000 }.map(&:thread_name).uniq)
      objects.stop
    RUBY
  end

  it "counts nothing while the session is paused" do
    expect(run_json(<<~RUBY)).to eq([110, 111])
      session = Profiler.start(mode: :allocations, every: 1)
      100.times { Object.new }
      session.pause
      1_000.times { Object.new }
      session.resume
      10.times { Object.new }
      seen = session.snapshot
      1.times { Object.new }
      print_json([seen, session.stop].map { |profile| objects_of(profile, "Object") })
    RUBY
  end

  it "of a forked child are the child's" do
    expect(run_json(<<~RUBY)).to eq(child: 300, parent: 1_000)
      session = Profiler.start(mode: :allocations, every: 1)
      1_000.times { Object.new }
      child = in_fork { 300.times { Object.new }; objects_of(session.stop, "Object") }
      print_json(child: child, parent: objects_of(session.stop, "Object"))
    RUBY
  end

  it "needs no signal: a program that handles SIGPROF keeps it" do
    expect(run_json(<<~RUBY)).to match(handled: 1, objects: be >= 100, notes: [])
      handled = 0
      trap("PROF") { handled += 1 }
      profile = Profiler.run(mode: :allocations, every: 1) { 100.times { Object.new }; Process.kill(:PROF, Process.pid); sleep 0.05 }
      print_json(handled: handled, objects: profile.stats[:objects], notes: profile.meta[:notes])
    RUBY
  end

  it "round-trips through pprof with its sample types" do
    Dir.mktmpdir do |box|
      written = run_json(<<~RUBY, chdir: box)
        profile = Profiler.run(mode: :allocations, every: 10, out: "a.pb.gz") { 5_000.times { |it| "text \#{it}" } }
        back = Profiler::Profile.load("a.pb.gz")
        profile.save("a.svg")
        print_json(stats: profile.stats, report: profile.report, same_report: back.report == profile.report, objects: back.samples.sum(&:alloc_objects),
                   bytes: profile.samples.sum(&:alloc_bytes), folded: profile.dump(:folded), svg: profile.dump(:svg))
      RUBY
      expect(written).to include(same_report: true, objects: written[:stats][:vm_objects], bytes: written[:folded].lines.sum { |line| Integer(line[/\d+$/]) })
      expect(written[:svg]).to include("bytes")
      expect(written[:report][/^ *TOTAL.*/].split).to eq(%w[TOTAL SELF OBJECTS CLASS FUNCTION PLACE])
      expect(written[:report]).to match(/^objects   [\d,]+ allocated, as many as the VM counted; one in 10 sampled$/)
    end
  end

  it "records when objects were allocated, with timeline: true" do
    figures = run_json(<<~RUBY)
      profile = Profiler.run(mode: :allocations, every: 50, timeline: true) { 5_000.times { Object.new } }
      print_json(times: profile.timeline.map(&:time), sum: profile.timeline.sum(&:alloc_objects), objects: profile.stats[:objects])
    RUBY
    times, sum, objects = figures.values
    expect(sum).to eq(objects).and be >= 5_000
    expect(times).to eq(times.sort)
    expect(times.uniq.size).to be > 20
    expect(times.size).to be > 50
  end

  it "can be recorded from the command line" do
    Dir.mktmpdir do |box|
      result = profiler_child("record", "--mode", "allocations", "--every", "5", "-o", "a.pb.gz", "--", RbConfig.ruby, "-e", "5_000.times { Object.new }",
                              chdir: box)
      expect(result.status).to be_success, result.err
      output = run_json("it = Profiler::Profile.load('a.pb.gz'); print_json(it.stats.merge(it.meta))", chdir: box)
      expect(output).to include(every: 5, objects: be >= 5_000, modes: ["allocations"])
      expect(profiler_child("record", "--every", "5", "--", "true", chdir: box).err).to include("--every 5 applies to objects")
    end
  end

  describe "with Ractors" do
    it "is refused beside a Ractor before Ruby 3.3, and ends there when one is created" do
      refused, objects, notes = run_json(<<~RUBY)
        $VERBOSE = nil
        session = Profiler.start(mode: :allocations, every: 1)
        100.times { Object.new }
        ractor = Ractor.new { receive }
        1_000.times { Object.new }
        refused = error { Profiler.start(mode: :allocations).discard }
        ractor.send(1)
        ractor.respond_to?(:value) ? ractor.value : ractor.take
        profile = session.stop
        print_json([refused, objects_of(profile, "Object"), profile.meta[:notes]])
      RUBY
      if RUBY_VERSION < "3.3"
        expect(refused).to eq("Profiler::Unsupported: mode: :allocations cannot be measured here: there are Ractors, and before Ruby 3.3 " \
                              "an allocation hook crashes a process that has any (allowed: :cpu, :wall, :native)")
        expect(objects).to eq(100)
        expect(notes).to include("objects were not sampled to the end: a Ractor was created, and before Ruby 3.3 an allocation hook would crash it")
      else
        expect([refused, objects]).to eq(["none", 1_100])
      end
    end
  end
end
