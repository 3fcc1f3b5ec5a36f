# frozen_string_literal: true

require "tmpdir"
require_relative "../support/tools"

# The objects that mode: :heap reports as live: those that a program keeps, and none that was freed.
RSpec.describe "mode: :heap" do
  include Tools

  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    require "objspace"
    class Kept; def initialize(it = nil) = @it = it; end
    # How many objects of each class are live, and how many of one.
    def live(profile) = profile.samples.group_by { |row| row.labels["class"] }.transform_values { |rows| rows.sum(&:inuse_objects) }
    def kept(profile) = live(profile).fetch("Kept", 0)
    # Resident kilobytes.
    def rss = GC.start.then { Integer(File.read("/proc/self/statm").split[1]) * 4 }
  RUBY

  it "finds the live objects of each class and call site" do
    figures = run_json(<<~RUBY)
      KEPT = []
      def keep(number) = number.times { |it| KEPT << Kept.new("text \#{it}"); 99.times { Object.new } }
      profile = Profiler.run(mode: :heap, every: 1) { keep(1_000) }
      alive = samples_in(profile, "Object#keep").select { |it| it.inuse_objects.positive? }
      sums = alive.group_by { |it| it.labels["class"] }.transform_values { |rows| [rows.sum(&:inuse_objects), rows.sum(&:inuse_bytes)] }
      print_json(sums: sums, slots: KEPT.sum { |it| ObjectSpace.memsize_of(it) }, allocated_by_live: alive.sum(&:alloc_objects),
                 allocated: profile.samples.sum(&:alloc_objects), vm_objects: profile.stats[:vm_objects])
    RUBY
    expect(figures[:sums]).to include(Kept: [1_000, figures[:slots]])
    # The machine stack can still refer to a few objects, including some of the 99,000 others.
    expect(figures[:sums][:String][0]).to be_between(1_000, 1_005)
    expect(figures[:sums].fetch(:Object, [0])[0]).to be <= 20
    expect(figures).to include(allocated_by_live: 0, allocated: figures[:vm_objects])
  end

  it "weighs a sampled object by its window" do
    alive = run_json(<<~RUBY, timeout: 120)
      kept = []
      print_json(live(Profiler.run(mode: :heap, every: 100) { 200_000.times { kept << Kept.new; 9.times { Object.new } } }))
    RUBY
    expect(alive[:Kept]).to be_within(10_000).of(200_000) # 5 standard deviations of 20,000 samples, of which one in ten is a Kept
    expect(alive.fetch(:Object, 0)).to be <= 400 # a few of those that were sampled can be on the stack
  end

  it "shows what each request leaks" do
    leaked, ages = run_json(<<~RUBY)
      CACHE = {}
      def leak(id) = CACHE["request \#{id}"] = "body" * 10
      def request(id) = (leak(id); 50.times { |it| "garbage \#{it}" })
      session = Profiler.start(mode: :heap, every: 1)
      leaked = 4.times.map do |round|
        100.times { |it| request((round * 100) + it) }
        samples_in(session.snapshot, "Object#leak").select { |it| it.labels["class"] == "String" }.sum(&:inuse_objects)
      end
      print_json([leaked, session.stop.samples.select { |it| it.inuse_objects.positive? }.map { |it| it.labels["age"] }.uniq])
    RUBY
    expect(leaked.each_cons(2).map { |before, after| after - before }).to match([be_between(195, 205)] * 3) # a key and a body
    expect(ages.size).to be > 2
  end

  it "finds leaks by what each round leaves behind" do
    expect(run_json(<<~RUBY)).to eq(leaks: [["Entry", 15, "Object#leak"]], others: [], growth: [[4, 160]])
      class Entry; end
      CACHE = []
      SEEN = {}
      def leak = CACHE << Entry.new
      def remember = SEEN[:last] = Object.new
      leaks = Profiler.leaks(rounds: 6) { 3.times { leak }; remember; 50.times { +"garbage" } }
      session = Profiler.start(mode: :heap, every: 1)
      before = session.snapshot
      4.times { leak }
      growth = session.stop.growth(before).select { |it| it.class_name == "Entry" }
      print_json(leaks: leaks.map { |it| [it.class_name, it.objects, it.frames.map(&:name).find { |name| name != "Class#new" }] }.select { |it| it[0] == "Entry" },
                 others: leaks.map(&:class_name) & %w[Object String], growth: growth.map { |it| [it.objects, it.bytes] })
    RUBY
  end

  # A handle of a singleton method keeps its object, and that of an anonymous class the class.
  it "does not count what only the profiler keeps: code that is made in each call" do
    found = program_json("heap/code_of_calls")
    expect(found[0].values).to all(be < 10), found.inspect
    expect(found[1].values).to all(be < 10), found.inspect
    expect(found[2]).to eq(80)
  end

  it "knows where the program loaded the code whose objects are live" do
    found = run_json(<<~RUBY)
      profile = Profiler.run(mode: :heap, every: 1) { 200.times { |number| eval("def kept\#{number}(list) = list.map { |it| it + \#{number} }") } }
      live = profile.samples.select { |row| row.labels["class"] == "(internal to Ruby)" && row.inuse_objects.positive? }
      places = live.group_by { |row| row.frames.any? { |frame| frame.name == "Kernel#eval" } }.transform_values { |rows| rows.sum(&:inuse_objects) }
      print_json(eval: places.fetch(true, 0), others: places.fetch(false, 0), findings: profile.findings.map { |it| it[:text] })
    RUBY
    expect(found[:eval]).to be > 400
    expect(found[:others]).to be < found[:eval] / 10
    expect(found[:findings].join).not_to match(/unsampled|100\.0% died/)
  end

  it "tracks objects that are moved, and never counts freed ones" do
    rounds = run_json(<<~RUBY, timeout: 120)
      kept = []
      random = Random.new(7)
      session = Profiler.start(mode: :heap, every: 1)
      GC.auto_compact = true if GC.respond_to?(:auto_compact=)
      rounds = 12.times.map do
        3_000.times { kept << Kept.new; "garbage" * 2 }
        kept.shuffle!(random: random)
        kept.pop(kept.size / 3)
        GC.compact if GC.respond_to?(:compact)
        [kept(session.snapshot), ObjectSpace.each_object(Kept).count]
      end
      session.discard
      print_json(rounds)
    RUBY
    expect(rounds).to match([[be >= 2_000, be >= 2_000]] * 12)
    expect(rounds.map(&:first)).to eq(rounds.map(&:last))
  end

  it "takes no more memory after millions of objects than after thousands" do
    expect(run_json(<<~RUBY, timeout: 120)).to match(more: be < 4_000, objects: be > 4_000_000)
      session = Profiler.start(mode: :heap, every: 10)
      make = ->(number) { i = 0; (Object.new; +"text"; i += 1) while i < number }
      make.(300_000)
      before = rss
      make.(2_000_000)
      print_json(more: rss - before, objects: session.stop.stats[:objects])
    RUBY
  end

  it "tracks objects while the session is paused" do
    expect(run_json(<<~RUBY)).to match([be_between(70, 75), be_between(80, 85)])
      kept = []
      session = Profiler.start(mode: :heap, every: 1)
      100.times { kept << Kept.new }
      session.pause
      100.times { kept << Kept.new }
      30.times { |it| kept[it] = nil }
      paused = kept(session.snapshot)
      session.resume
      10.times { kept << Kept.new }
      print_json([paused, kept(session.stop)])
    RUBY
  end

  it "tracks nothing once the session is over" do
    more = run_json(<<~RUBY)
      make = ->(number) { i = 0; (Object.new; i += 1) while i < number }
      Profiler.run(mode: :heap, every: 1) { make.(10) }
      Profiler.run(mode: :allocations, every: 1) { make.(100_000) }
      before = rss
      Profiler.run(mode: :allocations, every: 1) { make.(300_000) }
      print_json(rss - before)
    RUBY
    expect(more).to be < 4_000
  end

  it "notes when too many objects are live to track them all" do
    alive, notes = run_json(<<~RUBY, timeout: 120)
      kept = []
      profile = Profiler.run(mode: :heap, every: 1) { 300_000.times { kept << Object.new } }
      print_json([profile.stats[:live_objects], profile.meta[:notes]])
    RUBY
    expect(alive).to eq(1 << 18)
    expect(notes.grep(/too many live objects/).size).to eq(1)
  end

  it "is refused if there is no memory for its table" do
    expect(run_json(<<~RUBY)).to eq("Profiler::Unsupported: no memory for the table of live objects (12 MiB)")
      used = File.read("/proc/self/statm").split.first.to_i * 4_096
      Process.setrlimit(:AS, used + 8_000_000)
      print_json(error { Profiler.run(mode: :heap) { } })
    RUBY
  end

  it "has only Go's four types, and combines with other modes" do
    Dir.mktmpdir do |box|
      saved = run_json(<<~RUBY, chdir: box)
        profile = Profiler.run(mode: :heap, every: 5, out: "heap.pb.gz") { $kept = Array.new(5_000) { Object.new } }
        back = Profiler::Profile.load("heap.pb.gz")
        print_json(read: back.samples.sum(&:inuse_objects), alive: profile.stats[:live_objects], same_report: back.report == profile.report,
                   report: profile.report, modes: Profiler.run(mode: %i[cpu retained]) { }.meta[:modes])
      RUBY
      expect(saved).to include(read: saved[:alive], alive: be >= 4_500, same_report: true, modes: %w[cpu heap])
      expect(saved[:report].gsub(/\n {10}(?=\S)/, " ")).to match(/^objects   .*; one in 5 sampled; [\d,]+ live at the end$/).and match(/^inuse_space: .* in all$/)
    end
  end

  it "shows the bytes of classes if time was measured too" do
    report, values = run_json(<<~RUBY)
      KEPT = Array.new(20_000) { |number| number.to_s }
      profile = Profiler.run(mode: %i[cpu heap], every: 10) { MORE = Array.new(20_000) { |number| "text \#{number}" }; burn(50) }
      print_json([profile.report(by: :class), profile.by(:class).map { |it| it[:value] }])
    RUBY
    expect(report).to match(/^inuse_space: .* in all$/).and match(/ KiB  9\d\.\d% +String +/)
    expect(values.first).to eq "String"
  end

  it "has its types in Go's order, by Go's own tool" do
    need "go"
    Dir.mktmpdir do |box|
      run('Profiler.run(mode: :heap, out: "heap.pb.gz") { $kept = Array.new(5_000) { Object.new } }', chdir: box)
      raw = command_child("go", "tool", "pprof", "-raw", "heap.pb.gz", chdir: box)
      expect(raw.out).to include("alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes"), raw.err
    end
  end

  it "keeps its objects when a Ractor is created, and is refused beside one", unless: RUBY_VERSION.start_with?("4.0.") do
    expect(run_json(<<~RUBY)).to match(refused: /\AProfiler::Unsupported: .*there are Ractors/, kept: be_between(60, 65), notes: [/a Ractor was created/])
      $VERBOSE = nil
      kept = []
      session = Profiler.start(mode: :heap, every: 1)
      100.times { kept << Kept.new }
      40.times { kept.pop }
      ractor = Ractor.new { receive }
      100.times { kept << Kept.new }
      refused = error { Profiler.start(mode: :heap).discard }
      ractor.send(1)
      ractor.respond_to?(:value) ? ractor.value : ractor.take
      profile = session.stop
      print_json(refused: refused, kept: kept(profile), notes: profile.meta[:notes].grep(/Ractor was/))
    RUBY
  end

  it "says that garbage counts if the program has disabled the GC, where that keeps a collection from running" do
    garbage = RUBY_VERSION < "3.4" ? [be >= 100, [/has disabled the garbage collector/]] : [be < 10, []]
    expect(run_json(<<~RUBY)).to match([garbage, true, [be < 10, []]])
      counted = lambda do
        profile = Profiler.run(mode: :heap, every: 1) { 100.times { Kept.new }; nil }
        [kept(profile), profile.meta[:notes].grep(/garbage collector/)]
      end
      GC.disable
      with = counted.call
      print_json([with, GC.enable, counted.call])
    RUBY
  end

  it "counts in a forked child what the child allocates" do
    expect(run_json(<<~RUBY)).to eq(child: 10, parent: 100)
      kept = []
      session = Profiler.start(mode: :heap, every: 1)
      100.times { kept << Kept.new }
      child = in_fork { 10.times { kept << Kept.new }; kept(session.stop) }
      print_json(child: child, parent: kept(session.stop))
    RUBY
  end
end
