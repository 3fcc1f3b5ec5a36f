# frozen_string_literal: true

RSpec.describe "A Ractor other than the main one" do
  include_context "with a program"

  # Ruby says that Ractors are experimental, on every use.
  def run_quietly(code, **options) = run_json(code, ruby_options: ["-W0"], **options)

  let(:prelude) { require_program("ractors/turns") }

  it "is refused what the main one has" do
    names = %i[run start stop metrics flight flight_recorder continuous control allocations_of leaks]
    raised = run_quietly(<<~RUBY)
      ractor = Ractor.new do
        #{names.inspect}.map do |name|
          Profiler.public_send(name) { 1 }
        rescue StandardError, NotImplementedError, Ractor::Error => e
          e.class.name
        end
      end
      print_json(result_of(ractor))
    RUBY
    expect(raised).to eq(["Profiler::Unsupported"] * names.size)
  end

  it "can set labels first, without disturbing those of the main Ractor's fibers" do
    figures = run_quietly(<<~RUBY)
      first = turns { result_of(Ractor.new { Profiler.label(a: 1) { 1 } }) }
      # A later session too, also while another Ractor has labels.
      ractor = Ractor.new { Profiler.label(a: 2) { Ractor.receive } }
      later = turns { ractor.send(1) }
      result_of(ractor)
      print_json([first, later])
    RUBY
    expect(figures.size).to eq(2)
    figures.each do |dropped, captured, labels|
      expect(labels).to eq(%w[a b])
      expect(captured).to be > 20
      # This was 116 of 240 before: one at each turn. One or two may fall into the switch itself.
      expect(dropped).to be < captured / 5
    end
  end

  it "has labels of its own, which no session sees" do
    alone, profiled, main = program_json("ractors/labels", ruby_options: ["-W0"])
    # A fiber without labels of its own has those of its maker; before Ruby 3.2, when it is first resumed, if a session runs.
    expect(alone).to eq([[[{ a: "1", b: "2" }, RUBY_VERSION < "3.2" ? 0 : 2], {}, {}]] * 2)
    expect(profiled).to eq([[1, ["main"]]] * 3)
    expect(main).to eq({})
  end

  it "does not keep the wall clock from being measured later" do
    totals = run_quietly(<<~RUBY)
      ractor = Ractor.new { Ractor.receive }
      totals = Profiler.run(mode: :wall) { sleep 0.1 }.totals
      ractor.send(1)
      result_of(ractor)
      print_json(totals)
    RUBY
    expect(totals.fetch(:wall)).to be > 90_000_000
  end

  it "leaves allocations counted after it was freed" do
    shares = run_quietly(<<~RUBY)
      # The VM then calls no hook on allocations until hooks are added or removed. It was 1 % of the objects, now and then.
      shares = Array.new(15) do
        result_of(Ractor.new { 1 })
        sleep 0.001 until Ractor.count == 1 # before Ruby 3.3 objects are not sampled beside others
        stats = Profiler.run(mode: :allocations) { burn }.stats
        stats[:objects].fdiv(stats[:vm_objects])
      end
      print_json(shares)
    RUBY
    expect(shares).to all(be > 0.6)
  end

  # From Ruby 4.0 on, hooks on objects and on garbage collection are called in all Ractors.
  describe "that allocates beside the main one", if: RUBY_VERSION >= "4.0" do
    let(:prelude) { require_program("ractors/allocating") }

    it "has none of its objects counted, whatever is counted" do
      rows = run_quietly(<<~RUBY, timeout: 240)
        def sums(**options)
          profile = Profiler.run(mode: :allocations, **options) { work }
          [profile.stats[:objects], profile.samples.sum(&:alloc_bytes), objects_of(profile, "Own"), objects_of(profile, "Other")]
        end
        ways = [{ every: 1 }, { every: 7 }, { every_bytes: 2_048 }] # no slot is larger, even from Ruby 4.0 on
        ways.each { |it| sums(**it) } # what is allocated once
        print_json(ways.map { |it| [sums(**it), *beside_ractors { sums(**it) }] })
      RUBY
      rows.each do |alone, beside, others|
        expect(others).to be > 10_000
        expect(beside.values_at(0, 3)).to match([be_within(20).of(alone[0]), 0]) # the VM makes a few on the main one, too
      end
      expect(rows[0]).to match([[be_between(30_000, 30_100), Integer, 30_000, 0], [Integer, Integer, 30_000, 0], Integer])
      expect(rows[2][1][1]).to be_within(4_096).of(rows[2][0][1])
    end

    it "lets sessions start and stop, again and again, each with all objects" do
      # The VM changes its list of hooks without a lock. Within half a second it called one that was freed, or lost one.
      wrong, others = run_quietly(<<~RUBY, timeout: 240)
        print_json(beside_ractors do
          other = RUBY_VERSION < "4.1" ? :heap : :allocations # as 4.1 refuses it here
          Array.new(1_500) { |it| Profiler.run(mode: it.odd? ? other : :allocations, every: 1) { 20.times { Own.new } } }.reject { |it| objects_of(it, "Own") == 20 }.size
        end)
      RUBY
      expect(others).to be > 10_000
      expect(wrong).to eq(0)
    end

    it "leaves live objects known, whoever collects garbage", if: RUBY_VERSION.start_with?("4.0.") do
      alone, (beside, others) = run_quietly(<<~RUBY, timeout: 240)
        def live
          kept = nil
          profile = Profiler.run(mode: :heap, every: 1) { work; kept = Array.new(500) { Own.new }; work }
          rows = profile.samples.select { |it| it.labels["class"] == "Own" }
          [rows.sum(&:alloc_objects), rows.sum(&:inuse_objects), kept.size]
        end
        live
        print_json([live, beside_ractors { live }])
      RUBY
      expect(others).to be > 10_000
      # A register may still hold one that is garbage.
      expect([alone, beside]).to all(match([60_500, be_between(500, 510), 500]))
    end
  end

  # Before Ruby 3.3, asking for the references of an object aborts the VM while another Ractor collects garbage.
  it "collects garbage while the main one finds names, of blocks too" do
    names, collections = run_quietly(<<~RUBY, timeout: 120)
      20.times { |i| Object.define_method("block_\#{i}") { burn(2) } }
      ractor = Ractor.new { (GC.start; 200.times { Object.new }) while true }
      before = GC.count
      names = Array.new(15) do
        profile = Profiler.run(interval: 500) { 20.times { |i| __send__("block_\#{i}") } }
        profile.samples.flat_map { |row| row.frames.map(&:name) }.grep(/block_/).size
      end
      print_json([names.max, GC.count - before])
    RUBY
    expect(collections).to be > 15
    expect(names).to be > 5 if RUBY_VERSION >= "3.3" # before, they have Ruby's label
  end

  it "cannot start a session, and is refused with a reason" do
    reason = "this is not the main Ractor: sessions can only be used there, and profile only its threads"
    calls = ["Profiler.run { }", "Profiler.run(out: '/tmp/never.svg') { }", "Profiler.start", "Profiler.stop", "Profiler::Session.start",
             "Profiler.allocations_of { }", "Profiler.leaks { }"]
    [false, true].each do |running|
      refused, asked, main, markers, samples = run_quietly(<<~RUBY)
        session = Profiler.start if #{running}
        refused = #{calls.inspect}.map { |call| result_of(Ractor.new(call) { |code| begin; eval(code); "nothing"; rescue Exception => e; e.class.name + ": " + e.message; end }) }
        asked = result_of(Ractor.new { [Profiler.supported?, Profiler.unsupported_reason, Profiler.running?, Profiler.marker("x") { 7 }, Profiler.marker("y")] })
        print_json([refused, asked, [Profiler.supported?, Profiler.running?], session&.stop&.markers, Profiler.run { burn }.stats[:samples]])
      RUBY
      expect(refused).to eq(["Profiler::Unsupported: #{reason}"] * calls.size)
      expect(asked).to eq([false, reason, false, 7, nil])
      expect([main, markers]).to eq([[true, running], running ? [] : nil])
      expect(samples).to be_positive
    end
  end

  { "exec" => ['exec("echo", "there")', "there\n", 0], "exit!" => ["exit!(3)", "", 3],
    "popen" => ['puts IO.popen("echo there", &:read)', "there\n", 0] }.each do |name, (code, out, status)|
    it "can call #{name} in a Ractor of a recorded process" do
      Dir.mktmpdir do |box|
        result = ruby_child("-W0", "-rprofiler/autoload", "-e", "ractor = Ractor.new { #{code} }; sleep 0.01 until Ractor.count == 1", chdir: box)
        expect([result.out, result.status.exitstatus]).to eq([out, status]), result.err
      end
    end
  end
end
