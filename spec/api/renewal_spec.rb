# frozen_string_literal: true

# Unloaded code is released even if no result is taken, by a thread of the profiler that comes and goes.
RSpec.describe "A session of which no result is taken" do
  include_context "with a program"

  let(:prelude) { require_program("renewal/templates") }

  it "keeps neither code that is gone nor memory, and counts all that this code did" do
    result = run_json(<<~RUBY)
      handles
      session = Profiler.start(mode: :allocations, every: 1)
      rounds = Array.new(15) do
        render
        settle
        ObjectSpace.count_imemo_objects[:imemo_iseq]
      end
      wait_for { Thread.list.size == 1 }
      threads = Thread.list.size
      profile = session.stop
      rows = profile.samples.select { |row| row.labels["class"] == "Made" }
      print_json(grown: rounds.last - rounds.first, threads: threads, made: rows.sum(&:alloc_objects), rows: rows.size,
                 files: rows.map { |row| File.basename(row.frames.first.path == "<cfunc>" ? row.frames[1].path : row.frames.first.path) }.uniq,
                 unknown: names(profile).grep(/unknown/))
    RUBY
    # All that was rendered would be 5,600. A busy machine renews later.
    expect(result).to match(grown: be < 2_000, threads: 1, made: 6_000, rows: be < 10, files: ["template.erb"], unknown: [])
  end

  it "keeps the time of code that is gone, and what is live" do
    result = program_json("renewal/gone")
    expect(result[:sum]).to be_between(result[:inside] - 2_000_000, result[:around] + 2_000_000)
    expect(result).to include(mine: be > 800_000_000, live: 1_200, unknown: [])
  end

  it "passes on the exceptions that arrive meanwhile, and continues when its thread is killed" do
    result = program_json("renewal/exceptions")
    expect(result).to match(got: [*0...100], kept: be < 200, unknown: [])
  end

  it "releases code in forked children too" do
    result = run_json(<<~RUBY)
      handles
      session = Profiler.start(mode: :allocations, every: 1)
      children = Array.new(5) do
        render
        GC.start # a helper may be there now, which the child does not have
        in_fork { 3.times { render; settle }; [handles, names(session.stop).grep(/unknown/)] }
      end
      settle
      session.stop
      print_json(children)
    RUBY
    expect(result).to all(match([be < 200, []]))
  end
end
