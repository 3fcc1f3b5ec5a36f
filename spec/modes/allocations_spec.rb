# frozen_string_literal: true

require "tmpdir"

# What mode: :allocations says of objects, beside how many there are (spec/laws/objects_spec.rb).
RSpec.describe "mode: :allocations" do
  def run(code, **options)
    result = ruby_child("-e", "require 'profiler'\n#{code}", **options)
    expect(result.status).to be_success, result.err
    result.out
  end

  it "counts as many objects as the VM, also after an earlier session" do
    # What asks the VM for the first time makes objects, which are for the other one.
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      other = Profiler.start(mode: :allocations, every: 1, threads: :current)
      session = Profiler.start(mode: :allocations, every: 1)
      10.times { Object.new }
      p session.stop.stats.values_at(:objects, :vm_objects).uniq.size
      other.discard
    RUBY
    expect(result.out).to eq("1\n"), result.err
  end

  it "knows the class of every kind of object" do
    out = run(<<~RUBY)
      Named = Struct.new(:it)
      module Outer; class Inner; def self.name = "liar"; end; end
      anonymous = Class.new(Named)
      make = lambda do
        100.times { Outer::Inner.new; Named.new(1); anonymous.new(2); Hash.new; [3]; "4"; 5.5e300 * 2; 2**80; 1..it = 6; /7\#{it}/; Object.new }
        "text".each_char { } ; [1, 2].each.next; "a".match(/a/); Thread.new { }.join; Class.new; Complex(1, 2); Rational(1, 3)
      end
      make.call
      profile = Profiler.run(mode: :allocations, every: 1) { make.call }
      classes = profile.by(:class, limit: 0).map { |it| it[:value] }
      puts classes.grep(/0x\\h{4}/).inspect, (%w[Outer::Inner Named String Array Hash Object Integer Float Regexp MatchData Thread Class Complex Rational] - classes).inspect
      puts classes.include?("#<anonymous subclass of Named>"), classes.grep(/internal/).include?("(internal) imemo")
    RUBY
    expect(out.lines.map(&:chomp)).to eq(%w[[] [] true true])
  end

  it "weighs objects by the bytes of their slots" do
    out = run(<<~RUBY)
      big = Class.new { def initialize = (@a = @b = @c = @d = @e = @f = @g = @h = 1) }
      3.times { big.new }
      profile = Profiler.run(mode: :allocations, every: 1) { 10.times { big.new } }
      puts profile.samples.select { |it| it.labels["class"] == "#<anonymous subclass of Object>" }.map { |it| [it.alloc_objects, it.alloc_bytes] }.inspect
    RUBY
    expect(out.chomp).to eq(RUBY_VERSION < "3.2" ? "[[10, 400]]" : "[[10, 800]]")
  end

  it "samples by bytes with every_bytes:" do
    out = run(<<~RUBY)
      small = Class.new { def self.name = "x"; def initialize = @a = 1 }
      large = Class.new { def initialize = (@a = @b = @c = @d = @e = @f = @g = @h = 1) }
      work = -> { 60_000.times { small.new; 2.times { large.new } } }
      work.call
      classes = ->(profile) { profile.samples.group_by { |it| it.frames.first.name[/new/] && it.labels["class"] }.values.map { |rows| [rows.sum(&:alloc_bytes), rows.sum(&:alloc_objects)] }.max }
      exact = Profiler.run(mode: :allocations, every: 1, &work)
      bytes = Profiler.run(mode: :allocations, every_bytes: 2_048, &work)
      p exact.stats[:object_bytes], bytes.stats[:object_bytes], exact.stats[:objects], bytes.stats[:objects]
      p bytes.stats.values_at(:every, :every_bytes)
      puts bytes.report.gsub(/\s+/, " ")[/one per .*? sampled/]
    RUBY
    exact_bytes, bytes, exact, objects = out.lines.first(4).map { |it| Integer(it) }
    expect(bytes).to be_within(20_000).of(exact_bytes) # but for what the sessions themselves make, the same
    expect(objects).to be_within(exact / 50).of(exact) # each look says how large one is
    expect(out.lines[4..].map(&:chomp)).to eq(["[0, 2048]", "one per 2,048 bytes sampled"])
  end

  it "samples often enough for concurrent sessions with different every:" do
    out = run(<<~RUBY)
      bytes = Profiler.start(mode: :allocations, every_bytes: 64_000)
      objects = Profiler.start(mode: :allocations, every: 50)
      100_000.times { Object.new }
      objects.stop.then { |it| p it.stats[:objects] == it.stats[:vm_objects], it.stats[:samples] >= 2_000 }
      100_000.times { Object.new }
      bytes.stop.then { |it| p it.stats[:objects] - it.stats[:vm_objects] }
    RUBY
    expect(out.lines.first(2)).to eq(%W[true\n true\n])
    expect(Integer(out.lines.last).abs).to be < 2_000
  end

  it "combines with time in one profile, in samples of their own" do
    out = run(<<~RUBY)
      profile = Profiler.run(mode: %i[cpu allocations]) { 300_000.times { |it| "text \#{it}" } }
      made, timed = profile.samples.partition { |it| it.alloc_objects.positive? }
      puts made.sum(&:cpu), made.sum(&:alloc_objects) == profile.stats[:vm_objects], timed.sum(&:cpu) == profile.stats[:cpu_ns]
      puts timed.sum(&:alloc_objects), profile.meta[:modes].inspect, profile.stats[:cpu_ns] > 1_000_000
    RUBY
    expect(out.lines.map(&:chomp)).to eq(%w[0 true true 0] + ["[:cpu, :allocations]", "true"])
  end

  it "counts only the threads and labels of the session" do
    out = run(<<~RUBY)
      go = Queue.new
      other = Thread.new { go.pop; 10_000.times { Object.new } }
      sleep 0.01 until other.stop?
      mine = Profiler.start(mode: :allocations, every: 1, threads: :current)
      labelled = Profiler.start(mode: :allocations, every: 1, labels: { part: "two" })
      go << 1
      other.join
      100.times { Object.new }
      Profiler.label(part: "two") { 200.times { Object.new } }
      objects = ->(profile) { profile.samples.select { |it| it.labels["class"] == "Object" }.sum(&:alloc_objects) }
      puts objects.(labelled.stop), objects.(mine.stop)
    RUBY
    expect(out).to eq("200\n300\n")
  end

  # While only objects are sampled, threads are not hooked: each is registered at its first counted allocation.
  it "samples threads that start and exit during the session, with their names and labels, also beside a session of time" do
    expect(run(<<~RUBY)).to eq((0..3).map { |number| "t#{number} {nil=>1000, \"job t#{number}\"=>2000}\n" }.join)
      Thing = Class.new
      def things(number) = number.times { Thing.new }
      def work(name)
        Thread.current.name = name
        things(1_000)
        Profiler.label(job: "job \#{name}") do
          Fiber.new { things(1_000) }.resume
          things(1_000)
        end
      end
      session = Profiler.start(mode: :allocations, every: 1)
      4.times do |number|
        time = Profiler.start(mode: %i[cpu wall]) if number == 2
        Thread.new { work("t\#{number}") }.join
        time&.stop
        GC.start # the thread is no more
      end
      things = session.stop.samples.select { |it| it.labels["class"] == "Thing" }
      things.group_by(&:thread_name).sort.each do |name, rows|
        counts = rows.group_by { |it| it.labels["job"] }.transform_values { |some| some.sum(&:alloc_objects) }
        puts "\#{name} {\#{counts.sort_by { |job, _| job.to_s }.map { |job, number| "\#{job.inspect}=>\#{number}" }.join(", ")}}"
      end
    RUBY
  end

  # What is asked of a thread that is no more is read from memory that has become something else.
  it "forgets threads that exited unobserved, so that a session of time does not take them for live ones" do
    expect(run(<<~RUBY)).to eq("[\"main\"]\n")
      waiting = Array.new(200) { Thread.new { sleep } }
      Thread.pass until waiting.all?(&:stop?)
      objects = Profiler.start(mode: :allocations, every: 1_000)
      waiting.each(&:kill).each(&:join)
      waiting = nil
      strings = Array.new(5) { GC.start; Array.new(50_000) { |number| "SATOR" * (number % 5) } }
      time = Profiler.start(mode: %i[cpu wall])
      sleep 0.01
      p time.stop.samples.select { |it| it.wall > 1_000_000 }.map(&:thread_name).uniq
      objects.stop
    RUBY
  end

  it "counts nothing while the session is paused" do
    out = run(<<~RUBY)
      session = Profiler.start(mode: :allocations, every: 1)
      100.times { Object.new }
      session.pause
      1_000.times { Object.new }
      session.resume
      10.times { Object.new }
      seen = session.snapshot
      1.times { Object.new }
      [seen, session.stop].each { |profile| p profile.samples.select { |it| it.labels["class"] == "Object" }.sum(&:alloc_objects) }
    RUBY
    expect(out).to eq("110\n111\n")
  end

  it "of a forked child are the child's" do
    out = run(<<~RUBY)
      session = Profiler.start(mode: :allocations, every: 1)
      1_000.times { Object.new }
      read, write = IO.pipe
      made = ->(profile) { profile.samples.select { |it| it.labels["class"] == "Object" }.sum(&:alloc_objects) }
      pid = fork do
        300.times { Object.new }
        write.puts(made.(session.stop))
      end
      Process.wait(pid)
      puts read.gets, made.(session.stop)
    RUBY
    expect(out).to eq("300\n1000\n")
  end

  it "needs no signal: a program that handles SIGPROF keeps it" do
    out = run(<<~RUBY)
      trap("PROF") { puts "mine" }
      profile = Profiler.run(mode: :allocations, every: 1) { 100.times { Object.new }; Process.kill(:PROF, Process.pid); sleep 0.05 }
      puts profile.stats[:objects] >= 100, profile.meta[:notes].inspect
    RUBY
    expect(out).to eq("mine\ntrue\n[]\n")
  end

  it "round-trips through pprof with its sample types" do
    Dir.mktmpdir do |box|
      out = run(<<~RUBY, chdir: box)
        profile = Profiler.run(mode: :allocations, every: 10, out: "a.pb.gz") { 5_000.times { |it| "text \#{it}" } }
        back = Profiler::Profile.load("a.pb.gz")
        puts back.report == profile.report, back.samples.sum(&:alloc_objects) == profile.stats[:vm_objects]
        %w[a.svg a.folded a.txt].each { |file| profile.save(file) }
        puts File.read("a.folded").lines.sum { |it| it[/\\d+$/].to_i } == profile.samples.sum(&:alloc_bytes)
        puts File.read("a.svg").include?("bytes"), profile.report[/^ *TOTAL.*/].split.inspect
        puts profile.report.lines.grep(/^objects/)
      RUBY
      lines = out.lines.map(&:chomp)
      expect(lines.first(5)).to eq(["true", "true", "true", "true", '["TOTAL", "SELF", "OBJECTS", "CLASS", "FUNCTION", "PLACE"]'])
      expect(lines[5]).to match(/\Aobjects   [\d,]+ allocated, as many as the VM counted; one in 10 sampled\z/)
    end
  end

  it "records when objects were allocated, with timeline: true" do
    out = run(<<~RUBY)
      profile = Profiler.run(mode: :allocations, every: 50, timeline: true) { 5_000.times { Object.new } }
      times = profile.timeline.map(&:time)
      puts profile.timeline.sum(&:alloc_objects) == profile.stats[:objects], times.size > 50, times == times.sort, times.uniq.size > 20
    RUBY
    expect(out).to eq("true\n" * 4)
  end

  it "can be recorded from the command line" do
    Dir.mktmpdir do |box|
      result = profiler_child("record", "--mode", "allocations", "--every", "5", "-o", "a.pb.gz", "--", RbConfig.ruby, "-e", "5_000.times { Object.new }",
                              chdir: box)
      expect(result.status).to be_success, result.err
      out = run("it = Profiler::Profile.load('a.pb.gz'); p it.stats[:every], it.stats[:objects] >= 5_000, it.meta[:modes]", chdir: box)
      expect(out).to eq("5\ntrue\n[:allocations]\n")
      expect(profiler_child("record", "--every", "5", "--", "true", chdir: box).err).to include("--every 5 is for objects")
    end
  end

  describe "with Ractors" do
    it "is refused beside a Ractor before Ruby 3.3, and ends there when one is created" do
      out = run(<<~RUBY)
        $VERBOSE = nil
        session = Profiler.start(mode: :allocations, every: 1)
        100.times { Object.new }
        ractor = Ractor.new { receive }
        1_000.times { Object.new }
        begin
          Profiler.start(mode: :allocations).discard
          puts "started"
        rescue Profiler::Unsupported => e
          puts e.message
        end
        ractor.send(1)
        ractor.take
        profile = session.stop
        puts profile.samples.select { |it| it.labels["class"] == "Object" }.sum(&:alloc_objects), profile.meta[:notes].last
      RUBY
      if RUBY_VERSION < "3.3"
        expect(out).to eq("mode: :allocations cannot be measured here: there are Ractors, and before Ruby 3.3 a hook on allocation kills a process " \
                          "that has some (allowed: :cpu, :wall)\n100\na Ractor was created, which before Ruby 3.3 a hook on allocation kills: " \
                          "no object was sampled from then on\n")
      else
        expect(out.lines.first(2)).to eq(["started\n", "1100\n"])
      end
    end
  end
end
