# frozen_string_literal: true

require "tmpdir"
require_relative "../support/tools"

# What mode: :heap says is alive: what a program keeps, and nothing that was freed.
RSpec.describe "mode: :heap" do
  include Tools

  def run(code, **options)
    result = ruby_child("-e", "require 'profiler'\nrequire 'objspace'\n#{code}", **options)
    expect(result.status).to be_success, result.err
    result.out
  end

  it "finds the live objects of each class and call site" do
    out = run(<<~RUBY)
      class Kept; def initialize(it) = @it = it; end
      KEPT = []
      def keep(number) = number.times { |it| KEPT << Kept.new("text \#{it}"); 99.times { Object.new } }
      profile = Profiler.run(mode: :heap, every: 1) { keep(1_000) }
      alive = profile.samples.select { |it| it.inuse_objects.positive? && it.frames.any? { |frame| frame.name == "Object#keep" } }
      sums = alive.group_by { |it| it.labels["class"] }.transform_values { |rows| [rows.sum(&:inuse_objects), rows.sum(&:inuse_bytes)] }
      slots = KEPT.sum { |it| ObjectSpace.memsize_of(it) }
      p sums["Kept"] == [1_000, slots], sums["String"][0], sums.fetch("Object", [0])[0] <= 20, alive.map(&:alloc_objects).uniq
      p profile.samples.sum(&:alloc_objects) == profile.stats[:vm_objects]
    RUBY
    kept, strings, *rest = out.lines.map(&:chomp)
    expect([kept, *rest]).to eq(%w[true true [0] true])
    expect(Integer(strings)).to be_between(1_000, 1_005) # what was in the last hands can still be on the stack, of the 99,000 others too
  end

  it "weighs a sampled object by its window" do
    out = run(<<~RUBY, timeout: 120)
      class Kept; end
      KEPT = []
      profile = Profiler.run(mode: :heap, every: 100) { 200_000.times { KEPT << Kept.new; 9.times { Object.new } } }
      alive = profile.samples.select { |it| it.inuse_objects.positive? }.group_by { |it| it.labels["class"] }.transform_values { |rows| rows.sum(&:inuse_objects) }
      p alive["Kept"], alive.fetch("Object", 0)
    RUBY
    kept, garbage = out.lines.map { |it| Integer(it) }
    expect(kept).to be_within(10_000).of(200_000) # 5 standard deviations of 20,000 looks at one in ten
    expect(garbage).to be <= 400 # a few of those that were looked at can be on the stack
  end

  it "shows what each request leaks" do
    out = run(<<~RUBY)
      CACHE = {}
      def leak(id) = CACHE["request \#{id}"] = "body" * 10
      def request(id) = (leak(id); 50.times { |it| "garbage \#{it}" })
      session = Profiler.start(mode: :heap, every: 1)
      leaked = lambda do
        session.snapshot.samples.select { |it| it.labels["class"] == "String" && it.frames.any? { |frame| frame.name == "Object#leak" } }.sum(&:inuse_objects)
      end
      sums = 4.times.map { |round| 100.times { |it| request((round * 100) + it) }; leaked.call }
      p sums.each_cons(2).all? { |a, b| (195..205).cover?(b - a) }, session.stop.samples.select { |it| it.inuse_objects.positive? }.map { |it| it.labels["age"] }.uniq.size > 2
    RUBY
    expect(out).to eq("true\ntrue\n") # a key and a body
  end

  it "finds leaks by what each round leaves behind" do
    out = run(<<~RUBY)
      class Entry; end
      CACHE = []
      SEEN = {}
      def leak = CACHE << Entry.new
      def remember = SEEN[:last] = Object.new
      leaks = Profiler.leaks(rounds: 6) { 3.times { leak }; remember; 50.times { +"garbage" } }
      p leaks.map { |it| [it.class_name, it.objects, it.frames[1].name] }.select { |it| it[0] == "Entry" }, leaks.map(&:class_name) & %w[Object String]
      session = Profiler.start(mode: :heap, every: 1)
      before = session.snapshot
      4.times { leak }
      p session.stop.growth(before).select { |it| it.class_name == "Entry" }.map { |it| [it.objects, it.bytes] }
    RUBY
    expect(out).to eq(%([["Entry", 15, "Object#leak"]]\n[]\n[[4, 160]]\n))
  end

  it "tracks objects that are moved, and never counts freed ones" do
    out = run(<<~RUBY, timeout: 120)
      class Kept; def initialize = @a = @b = 1; end
      kept = []
      random = Random.new(7)
      session = Profiler.start(mode: :heap, every: 1)
      GC.auto_compact = true if GC.respond_to?(:auto_compact=)
      good = 12.times.map do
        3_000.times { kept << Kept.new; "garbage" * 2 }
        kept.shuffle!(random: random)
        kept.pop(kept.size / 3)
        GC.compact if GC.respond_to?(:compact)
        alive = session.snapshot.samples.select { |it| it.labels["class"] == "Kept" }.sum(&:inuse_objects)
        alive == ObjectSpace.each_object(Kept).count
      end
      session.discard
      p good.all?
    RUBY
    expect(out).to eq("true\n")
  end

  it "takes no more memory after millions of objects than after thousands" do
    out = run(<<~RUBY, timeout: 120)
      rss = -> { GC.start; Integer(File.read("/proc/self/statm").split[1]) * 4 }
      session = Profiler.start(mode: :heap, every: 10)
      make = ->(number) { i = 0; (Object.new; +"text"; i += 1) while i < number }
      make.(300_000)
      before = rss.call
      make.(2_000_000)
      after = rss.call
      p after - before < 4_000, session.stop.stats[:objects] > 4_000_000
    RUBY
    expect(out).to eq("true\ntrue\n")
  end

  it "tracks objects while the session is paused" do
    out = run(<<~RUBY)
      class Kept; end
      kept = []
      session = Profiler.start(mode: :heap, every: 1)
      100.times { kept << Kept.new }
      session.pause
      100.times { kept << Kept.new }
      30.times { |it| kept[it] = nil }
      alive = ->(profile) { profile.samples.select { |it| it.labels["class"] == "Kept" }.sum(&:inuse_objects) }
      puts (70..75).cover?(alive.(session.snapshot))
      session.resume
      10.times { kept << Kept.new }
      puts (80..85).cover?(alive.(session.stop))
    RUBY
    expect(out).to eq("true\ntrue\n")
  end

  it "tracks nothing once the session is over" do
    out = run(<<~RUBY)
      rss = -> { GC.start; Integer(File.read("/proc/self/statm").split[1]) * 4 }
      make = ->(number) { i = 0; (Object.new; i += 1) while i < number }
      Profiler.run(mode: :heap, every: 1) { make.(10) }
      Profiler.run(mode: :allocations, every: 1) { make.(100_000) }
      before = rss.call
      Profiler.run(mode: :allocations, every: 1) { make.(300_000) }
      p rss.call - before < 4_000
    RUBY
    expect(out).to eq("true\n")
  end

  it "notes when too many objects are live to track them all" do
    out = run(<<~RUBY, timeout: 120)
      kept = []
      profile = Profiler.run(mode: :heap, every: 1) { 300_000.times { kept << Object.new } }
      alive = profile.stats[:alive_objects]
      p alive, profile.meta[:notes].grep(/too many objects were live/).size
    RUBY
    expect(out).to eq("#{1 << 18}\n1\n")
  end

  it "is refused where there is no memory for its table" do
    out = run(<<~RUBY)
      used = File.read("/proc/self/statm").split.first.to_i * 4_096
      Process.setrlimit(:AS, used + 8_000_000)
      begin
        Profiler.run(mode: :heap) { }
      rescue Profiler::Unsupported => e
        puts e.message
      end
    RUBY
    expect(out).to eq("no memory for the table of live objects (12 MiB)\n")
  end

  it "has Go's four types alone, and combines with other modes" do
    Dir.mktmpdir do |box|
      out = run(<<~RUBY, chdir: box)
        profile = Profiler.run(mode: :heap, every: 5, out: "heap.pb.gz") { $kept = Array.new(5_000) { Object.new } }
        back = Profiler::Profile.load("heap.pb.gz")
        p back.samples.sum(&:inuse_objects) == profile.stats[:alive_objects], back.report == profile.report
        puts profile.report.lines.grep(/_space|live/)
        p Profiler.run(mode: %i[cpu retained]) { }.meta[:modes]
      RUBY
      lines = out.lines.map(&:chomp)
      expect(lines.first(2)).to eq(%w[true true])
      expect(lines[2..]).to match([/\Aobjects   .*; one in 5 sampled; [\d,]+ live at the end\z/, /\Ainuse_space: .* in all\z/, "[:cpu, :heap]"])
    end
  end

  it "has its types in Go's order, by Go's own tool" do
    need "go"
    Dir.mktmpdir do |box|
      run('Profiler.run(mode: :heap, out: "heap.pb.gz") { $kept = Array.new(5_000) { Object.new } }', chdir: box)
      raw = command_child("go", "tool", "pprof", "-raw", "heap.pb.gz", chdir: box)
      expect(raw.out).to include("alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes"), raw.err
    end
  end

  it "keeps its objects when a Ractor is created, and is refused beside one" do
    out = run(<<~RUBY)
      $VERBOSE = nil
      class Kept; end
      kept = []
      session = Profiler.start(mode: :heap, every: 1)
      100.times { kept << Kept.new }
      40.times { kept.pop }
      ractor = Ractor.new { receive }
      100.times { kept << Kept.new }
      begin
        Profiler.start(mode: :heap).discard
      rescue Profiler::Unsupported => e
        puts e.message[/there are Ractors/]
      end
      ractor.send(1)
      ractor.take
      profile = session.stop
      alive = profile.samples.select { |it| it.labels["class"] == "Kept" }.sum(&:inuse_objects)
      puts (60..65).cover?(alive), profile.meta[:notes].grep(/a Ractor was created/).size
    RUBY
    expect(out).to eq("there are Ractors\ntrue\n1\n")
  end

  it "counts in a forked child what the child allocates" do
    out = run(<<~RUBY)
      class Kept; end
      kept = []
      session = Profiler.start(mode: :heap, every: 1)
      100.times { kept << Kept.new }
      alive = -> { session.stop.samples.select { |it| it.labels["class"] == "Kept" }.sum(&:inuse_objects) }
      read, write = IO.pipe
      Process.wait(fork { 10.times { kept << Kept.new }; write.puts(alive.call) })
      puts read.gets, alive.call
    RUBY
    expect(out).to eq("10\n100\n")
  end
end
