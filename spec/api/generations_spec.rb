# frozen_string_literal: true

# Stacks and handles of a generation are released while sessions run, and no profile shows that.
RSpec.describe "A session while code comes and goes" do
  include_context "with a program"

  let(:prelude) { require_program("generations/renewing") }

  it "forgets code that is gone, and keeps its time", :timed do
    result = program_json("generations/rotations")
    expect(result[:counts].max).to be < 400
    expect(result.values_at(:whole, :parts)).to all(be_between(result[:inside] - 2_000_000, result[:around] + 2_000_000))
    expect(result[:mine]).to all(be > 0.7 * result[:inside])
    expect(result[:rows]).to be < 100
    expect(result[:unknown]).to eq([])
  end

  it "keeps the code of sums of objects when there are too many stacks" do
    result = run_json(<<~RUBY, timeout: 120)
      RANDOM = Random.new(1)
      def one(level) = level.zero? ? Object.new : another(level - 1)
      def two(level) = level.zero? ? Object.new : another(level - 1)
      def another(level) = RANDOM.rand(2).zero? ? one(level) : two(level)
      session = Profiler.start(mode: :allocations, every: 1)
      25_000.times { one(60) }
      # Sums stay in the process until their slot is needed; meanwhile their code is gone.
      20.times do |round|
        60.times { |number| eval("def gone = 6.times { Object.new }; gone", binding, "gone\#{round}_\#{number}.rb") }
        GC.start
        Object.send(:remove_method, :gone)
        GC.start(full_mark: false)
      end
      profile = session.stop
      print_json(notes: profile.meta[:notes], rows: profile.samples.size, unknown: names(profile).grep(/unknown/))
    RUBY
    expect(result).to match(notes: [/too many different stacks/], rows: be > 100, unknown: [])
  end

  it "names what is live, on the stack where it was allocated" do
    result = run_json(<<~RUBY)
      session = Profiler.start(mode: %i[allocations heap], every: 1)
      kept
      classes = Array.new(300) { |number| Object.const_set("Kind\#{number % 7}_\#{number}", Class.new) }
      def keep(one) = (KEPT << one.new)
      KEPT = []
      parts = classes.each_slice(30).map do |some|
        some.each { |one| eval("keep(one)", binding, "kept.rb", 1) }
        session.rotate
      end
      last = session.stop
      live = last.samples.select { |row| row.inuse_objects > 0 && row.labels["class"].to_s.start_with?("Kind") }
      print_json(live: live.sum(&:inuse_objects), classes: live.map { |row| row.labels["class"] }.uniq.size,
                 frames: live.flat_map { |row| row.frames.map(&:name) }.uniq.grep(/keep/),
                 allocated: parts.sum { |it| it.samples.select { |row| row.labels["class"].to_s.start_with?("Kind") }.sum(&:alloc_objects) })
    RUBY
    expect(result).to include(live: 300, classes: 300, frames: ["Object#keep"], allocated: 300)
  end

  it "keeps the code of objects that are summed up and not recorded yet, while slices of another session end" do
    result = program_json("generations/slices")
    expect(result).to match_array(Array.new(40) { |round| [["made#{round}.rb"], 6] })
  end

  it "survives garbage collections, compactions, forks and other sessions meanwhile" do
    result = run_json(<<~RUBY)
      session = Profiler.start(mode: :cpu, interval: 100)
      kept
      others = Array.new(3) { Thread.new { 30.times { Profiler.run(interval: 100) { renew; other(1) } } } }
      forked = []
      60.times do |round|
        renew
        other(1)
        GC.start(full_mark: round.odd?)
        GC.compact if round % 10 == 0 && GC.respond_to?(:compact)
        forked << in_fork { renew; 20.times.any? { other(20); names(session.rotate).include?("Object#renewed") } } if round % 20 == 7
        session.rotate
      end
      others.each(&:join)
      print_json(forked: forked, names: names(session.stop).grep(/unknown/), kept: kept)
    RUBY
    expect(result).to eq(forked: [true] * 3, names: [], kept: 0)
  end

  it "keeps labels apart, however many there have been" do
    result = run_json(<<~RUBY)
      whole = Profiler.start(mode: :cpu, interval: 1_000)
      labels = ->(profile) { profile.samples.map { |row| row.labels["request"] }.compact.uniq }
      seen = Profiler.label(request: "outer") do
        waiting = Thread.new { Profiler.label(request: "waiting") { sleep } }
        Thread.pass until waiting.stop?
        seen = 4.times.map do |round|
          2_500.times { |number| Profiler.label(request: "\#{round} \#{number}") { nil } }
          own = Profiler.run(mode: :cpu, interval: 1_000) { Profiler.label(request: "mine \#{round}") { burn(30) }; burn(30) }
          labels[own] - ["\#{round} 0"]
        end
        waiting.kill.join
        seen
      end
      notes = whole.stop
      print_json(seen: seen.map(&:sort), whole: labels[notes].grep(/mine|outer|other/).sort, notes: notes.meta[:notes].grep(/label/i))
    RUBY
    expect(result[:seen]).to eq(Array.new(4) { |round| ["mine #{round}", "outer"] })
    expect(result[:whole]).to eq([*Array.new(4) { |round| "mine #{round}" }, "outer"])
    expect(result[:notes]).to eq([])
  end
end
