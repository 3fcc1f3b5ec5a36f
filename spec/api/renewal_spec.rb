# frozen_string_literal: true

# Unloaded code is released even if no result is taken, by a thread of the profiler that comes and goes.
RSpec.describe "A session of which no result is taken" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    require "erb"
    require "objspace"
    Made = Class.new
    TEMPLATE = ERB.new("<% 2.times do %><%= Made.new && nil %><% end %>").src
    def render = 200.times { eval(TEMPLATE, TOPLEVEL_BINDING.dup, "template.erb") }
    def handles = Profiler::Testing.freeze_at(60)
    # Waits until there are few handles again, through garbage collections.
    def settle
      wait_for do
        GC.start
        10.times { |number| number.to_s }
        handles < 200
      end
    end
    def names(profile) = profile.samples.flat_map { |row| row.frames.map(&:name) }.uniq
  RUBY

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
    result = run_json(<<~RUBY)
      handles
      around = cpu_now
      session = Profiler.start(mode: %i[cpu allocations heap], interval: 500, every: 1)
      inside = cpu_now
      KEPT = []
      20.times do |number|
        60.times { eval("def renewed = (KEPT << Made.new; burn(1))\\nrenewed", TOPLEVEL_BINDING, "renewed.rb") }
        GC.start
        wait_for { Thread.list.size == 1 }
      end
      inside = cpu_now - inside
      profile = session.stop
      around = cpu_now - around
      live = profile.samples.select { |row| row.inuse_objects > 0 && row.labels["class"] == "Made" }
      print_json(sum: profile.samples.sum(&:cpu), inside: inside, around: around,
                 mine: samples_in(profile, "Object#renewed").sum(&:cpu), live: live.sum(&:inuse_objects),
                 unknown: names(profile).grep(/unknown/))
    RUBY
    expect(result[:sum]).to be_between(result[:inside] - 2_000_000, result[:around] + 2_000_000)
    expect(result).to include(mine: be > 800_000_000, live: 1_200, unknown: [])
  end

  it "passes on the exceptions that arrive meanwhile, and continues when its thread is killed" do
    result = run_json(<<~RUBY)
      handles
      session = Profiler.start(mode: :allocations, every: 1)
      got = []
      arrived = Class.new(Exception)
      main = Thread.current
      sender = Thread.new do
        100.times do |number| # each waits for a time slice
          main.raise(arrived, number.to_s)
          wait_for { got.size > number }
          (Thread.list - [main, Thread.current]).each(&:kill) if number % 20 == 19
        end
      end
      work = lambda do
        20.times { eval(TEMPLATE, TOPLEVEL_BINDING.dup, "template.erb") }
        GC.start(full_mark: false)
        10.times { |number| number.to_s }
      end
      Thread.handle_interrupt(arrived => :never) do
        while sender.alive?
          begin
            Thread.handle_interrupt(arrived => :immediate) { work.call }
          rescue arrived => e
            got << e.message.to_i
          end
        end
      end
      settle
      print_json(got: got, kept: handles, unknown: names(session.stop).grep(/unknown/))
    RUBY
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
