# frozen_string_literal: true

# Law 1 for objects: what a session of all threads counts is what the VM itself counts, to the last object.
RSpec.describe "Allocated objects" do
  include_context "with a program"

  runs = Integer(ENV.fetch("PROPERTY_RUNS", "12"))

  Array.new(runs) { Kernel.rand(1_000_000) }.each_with_index do |seed, run|
    every = [1, 2, 10, 100, 1_000, 10_000][run % 6]

    it "are as many as the VM counts in the random program #{seed}, sampling one in #{every}" do
      rows = program_json("allocations/random_objects", env: { "SEED" => seed.to_s, "EVERY" => every.to_s })
      expect(rows).not_to be_empty
      rows.each do |row|
        expect(row[:sum]).to eq(row[:vm]), row.inspect
        expect(row[:objects]).to eq(row[:sum])
        expect(row[:unclassed]).to eq(0)
      end
      whole = rows.last
      expect(whole[:samples]).to eq(whole[:sum]) if every == 1
    end
  end

  it "are counted where they are allocated, each one with every: 1" do
    expect(run_json(<<~RUBY)).to eq(strings: 20_000, arrays: 20, leaves: [[500, true, 500]])
      require "objspace"
      class Leaf; end
      def split = LINE.split(",")
      def make = 500.times { Leaf.new }
      LINE = (1..1_000).to_a.join(",")
      split; make
      profile = Profiler.run(mode: :allocations, every: 1) { 20.times { split }; make }
      rows = profile.samples.group_by { |it| [it.frames[1].name, it.labels["class"]] }
      strings, arrays = %w[String Array].map { |name| rows[["Object#split", name]].sum(&:alloc_objects) }
      leaves = profile.samples.select { |it| it.labels["class"] == "Leaf" }
      leaves = leaves.map { |it| [it.alloc_objects, it.alloc_bytes == 500 * ObjectSpace.memsize_of(Leaf.new), it.count] }
      print_json(strings: strings, arrays: arrays, leaves: leaves)
    RUBY
  end

  # With a fixed distance one of them has no sample, or all.
  [[100, 100], [600, 9], [64, 64]].each do |every, cycle|
    it "are sampled without bias in a cycle of #{cycle} objects, one in #{every}" do
      worst = run_json(<<~RUBY, timeout: 120)
        names = Array.new(#{cycle}) { |it| :"m\#{it}" }
        names.each { |name| Object.class_eval("def \#{name} = Object.new", "cycle.rb", name[1..].to_i + 1) }
        eval("def turn = (\#{names.join(";")})")
        worst = Array.new(20) do
          profile = Profiler.run(mode: :allocations, every: #{every}) { #{600_000 / cycle}.times { turn } }
          shares = Hash.new(0)
          profile.samples.each { |it| (name = it.frames.find { |frame| frame.path == "cycle.rb" }&.name) && shares[name] += it.alloc_objects }
          names.map { |name| (shares["Object#\#{name}"].fdiv(#{600_000 / cycle * cycle}) - #{1.fdiv(cycle)}).abs }.max
        end
        print_json(worst.max)
      RUBY
      share = 1.fdiv(cycle)
      sigma = Math.sqrt(share * (1 - share) / (600_000.0 / every))
      expect(worst).to be < 5 * sigma # the worst of 20 x cycle
    end
  end

  it "are the program's, and not those of the end of a session" do
    expect(run_json(<<~RUBY)).to all(eq([3, 0]).or(eq([3, 3])))
      KEPT = []
      rows = %i[allocations heap].map do |mode|
        run = -> { Profiler.run(mode: mode, every: 1) { 3.times { KEPT << Object.new } } }
        run.call # fills the caches of the code
        profile = run.call
        [profile.samples.sum(&:alloc_objects), profile.samples.sum(&:inuse_objects)]
      end
      print_json(rows)
    RUBY
  end

  it "are as many as the VM counts between the results of a session" do
    counts = run_json(<<~RUBY)
      session = Profiler.start(mode: :heap, every: 1)
      results = %i[snapshot rotate snapshot snapshot stop].map do |result|
        1_000.times { Object.new }
        session.public_send(result)
      end
      print_json(results.map { |profile| [profile.samples.sum(&:alloc_objects), profile.stats[:vm_objects]] })
    RUBY
    counts.each { |allocated, by_vm| RUBY_VERSION < "3.4" ? expect(allocated).to(eq(by_vm), counts.to_s) : expect(allocated).to(be_between(by_vm - 20, by_vm), counts.to_s) }
  end

  it "have their shares in bursts, phases and bulk work in C" do
    worst = program_json("allocations/parts", timeout: 120)
    expect(worst).to be < 4.5 # in standard deviations of as many independent looks
  end
end
