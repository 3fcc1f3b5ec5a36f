# frozen_string_literal: true

RSpec.describe "Session#rotate" do
  include_context "with a program"

  it "divides the time of a session" do
    result = program_json("rotation/parts")
    # The one session begins before the other, and ends after it.
    more = result[:around] - result[:inside]
    expect(result[:parts][0]).to be_between(result[:whole][0] - 3_000_000, result[:whole][0] + more + 3_000_000)
    # A burn reads whole milliseconds, so it can be one short. That none has more than its own follows from the sum.
    expect(result[:each].first(8)).to all(be >= 18_000_000)
    expect(result[:samples].sum).to be > 40
    expect(result[:gaps].map(&:abs)).to all(be < 5_000_000)
  end

  it "counts each object once" do
    result = run_json(<<~RUBY)
      Kept = Class.new
      kept = []
      session = Profiler.start(mode: %i[allocations heap], every: 1)
      numbers = [100, 0, 250, 3]
      parts = numbers.map { |number| number.times { kept << Kept.new }; session.rotate }
      50.times { |place| kept[place] = nil }
      parts << session.stop
      live = ->(profile) { profile.samples.select { |row| row.labels["class"] == "Kept" }.sum(&:inuse_objects) }
      print_json(allocated: parts.map { |it| objects_of(it, "Kept") }, live: parts.map(&live))
    RUBY
    expect(result[:allocated]).to eq([100, 0, 250, 3, 0])
    expect(result[:live].first(4)).to eq([100, 100, 350, 353])
    expect(result[:live].last).to be_between(303, 310) # a dead one may still be on the machine stack
  end

  it "puts each marker and each event of the timeline into one profile" do
    result = run_json(<<~RUBY)
      session = Profiler.start(timeline: true)
      parts = %w[a b].map { |name| Profiler.marker(name) { burn_in_pieces(200) }; session.rotate }
      parts << session.stop
      print_json(markers: parts.map { |it| it.markers.map(&:name) },
                 longest: parts.map { |it| it.timeline.map(&:time).max.to_f / it.stats[:duration_ns] }, events: parts.map { |it| it.timeline.size })
    RUBY
    expect(result[:markers]).to eq([["a"], ["b"], []])
    expect(result[:events].first(2)).to all(be > 2) # one in each of the kernel's ticks, at least
    expect(result[:longest].first(2)).to all(be_between(0.3, 1.02))
  end

  it "adds what was not received to the next profile, and to no other" do
    result = run_json(<<~RUBY)
      Kept = Class.new
      session = Profiler.start(mode: :allocations, every: 1)
      numbers = (1..8).map do |number|
        number.times { Kept.new }
        [2, 3, 6].include?(number) ? session.rotate { break 0 } : objects_of(session.rotate, "Kept")
      end
      print_json([numbers, objects_of(session.stop, "Kept")])
    RUBY
    expect(result).to eq([[1, 0, 0, 2 + 3 + 4, 5, 0, 6 + 7, 8], 0])
  end

  [false, true].each do |gently|
    it "returns a part of its own to each thread that rotates it#{", gently" if gently}" do
      result = run_json(<<~RUBY, timeout: 120)
        Kept = Class.new
        session = Profiler.start(mode: :allocations, every: 1)
        counts = Array.new(3) do |number|
          Thread.new do
            Array.new(30) do
              500.times { Kept.new }
              eval("def new_\#{number} = 200.times { Object.new }; new_\#{number}") # something to name
              session.rotate(gently: #{gently}) { |profile| sleep(0.001); objects_of(profile, "Kept") }
            end
          end
        end.flat_map(&:value)
        print_json([counts.sum + objects_of(session.stop, "Kept"), counts.count(&:positive?) > 30])
      RUBY
      expect(result).to eq([3 * 30 * 500, true])
    end
  end

  it "loses nothing to exceptions from outside" do
    result = program_json("rotation/exceptions", timeout: 120)
    expect(result).to match(lost: be_between(-result[:interrupted], 0), made: be > 500, interrupted: be > 20)
  end

  it "lets other threads run in between, if it is to be gentle", :timed do
    result = program_json("rotation/gently", timeout: 120)
    (others, named), (none, all) = result
    expect([named, all]).to eq([4_000, 4_000])
    expect(others).to be > 10 * [none, 100].max
  end

  it "names nothing in a child that a trap forks in the middle of it" do
    result = program_json("rotation/fork_in_trap", timeout: 120)
    expect(result[:parent]).to all(eq("none"))
    expect(result[:statuses]).to all(eq("exit 0"))
    expect(result[:children]).to include(/the process was forked while functions were being named: the profile belongs to the parent/)
    expect(result[:children].grep_v(/while functions were being named|none/)).to eq([])
  end

  it "leaves to the parent what a child inherits of an interrupted call" do
    expect(program_json("rotation/inherited")).to eq([1, 6])
  end

  it "goes on with the next profile in a forked child" do
    expect(run_json(<<~RUBY)).to eq([1, 1, [2, 0]])
      session = Profiler.start(mode: :allocations, every: 1)
      Kept = Class.new
      Kept.new
      first = objects_of(session.rotate, "Kept")
      Kept.new
      child = in_fork { 2.times { Kept.new }; [session.rotate, session.stop].map { |it| objects_of(it, "Kept") } }
      print_json([first, objects_of(session.stop, "Kept"), child])
    RUBY
  end
end
