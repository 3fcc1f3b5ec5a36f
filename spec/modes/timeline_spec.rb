# frozen_string_literal: true

require "json"

# The events of a timeline add up to the samples.
RSpec.describe "Profile#timeline" do
  include_context "with a box"
  include_context "with a program"

  let(:prelude) { <<~RUBY }
    MODE = %i[cpu wall].freeze
    WEIGHTS = %i[count cpu wall gvl_wait gc]
    def first_burn = burn(120)
    def nap = sleep(0.1)
    def second_burn = burn(120)
    def phases = [first_burn, nap, second_burn]
    def sums(shares)
      shares.group_by { |it| [it.frames, it.thread_id, it.thread_name, it.state, it.labels] }
            .transform_values { |some| WEIGHTS.map { |name| some.sum(&name) } }.reject { |_, weights| weights.all?(0) }
    end
    def same?(profile) = sums(profile.timeline) == sums(profile.samples)
  RUBY

  it "has the phases of each thread in order", :timed do
    said = JSON.parse(run(<<~RUBY))
      require "json"
      profile = Profiler.run(mode: MODE, timeline: true) do
        %w[one other].map { |name| Thread.new { Thread.current.name = name; phases } }.each(&:join)
      end
      threads = profile.timeline.group_by(&:thread_name).slice("one", "other")
      phase = ->(event) { event.frames.map(&:name).grep(/first_burn|nap|second_burn/).first&.delete_prefix("Object#") }
      puts JSON.generate(
        ordered: profile.timeline.each_cons(2).all? { |one, other| one.time <= other.time },
        within: profile.timeline.all? { |it| it.time.between?(0, profile.stats[:duration_ns] + 5_000_000) },
        # What was settled at the end has no count.
        phases: threads.transform_values { |all| all.select { |it| it.count > 0 }.filter_map(&phase).chunk_while { |a, b| a == b }.map(&:first) },
        naps: threads.values.map { |all| all.select { |it| it.state == :waiting && phase[it] == "nap" }.sum(&:wall) / 1_000_000 },
        clocks: threads.values.map { |all| all.sum(&:cpu) / 1_000_000 },
        same: same?(profile), read: same?(Profiler::Native.parse(profile.to_pprof)), stats: profile.stats
      )
    RUBY
    measured = RUBY_VERSION >= "3.3"
    expect(said).to include("ordered" => true, "within" => true, "same" => true, "read" => true)
    expect(said["phases"].keys).to contain_exactly("one", "other")
    expect(said["phases"].values).to all(eq(%w[first_burn nap second_burn]))
    # Where waits are sampled it has also been waiting until it had the GVL again.
    expect(said["naps"]).to all(be_between(90, measured ? 140 : 400))
    expect(said["clocks"]).to all(be_between(239, 290))
    expect(said["stats"]).to include("timeline_kept" => be > 100, "timeline_dropped" => 0)
  end

  it "gives frozen events with all that samples have, created on demand" do
    printed = run(<<~RUBY)
      session = Profiler.start(raw: true, static_labels: { env: "test" })
      Profiler.label(job: "a") { burn }
      profile = session.snapshot
      burn
      whole = session.stop
      p profile.timeline.class, profile.timeline.size == profile.timeline.count, profile.stats[:timeline_kept] == profile.timeline.size
      event = profile.timeline.find { |it| it.state == :running && it.count == 1 && it.labels.key?("job") }
      p [event, event.frames, event.labels, event.thread_name].all?(&:frozen?), event.labels, event.state, event.frames.first.class.name
      p event.members == [:time, *Profiler::Sample.members]
      p same?(profile), same?(whole), whole.timeline.first(5) == profile.timeline.first(5)
      p whole.timeline.sum(&:cpu) > profile.timeline.sum(&:cpu)
    RUBY
    labels = { "env" => "test", "job" => "a" }.inspect
    expect(printed.lines(chomp: true)).to eq(["Enumerator", "true", "true", "true", labels, ":running", "Profiler::Frame".inspect, *["true"] * 5])
  end

  it "is nil by default" do
    printed = run("p Profiler.run { burn }.timeline, Profiler.run(timeline: false) { }.timeline, Profiler.run { }.stats[:timeline_kept]")
    expect(printed).to eq("nil\nnil\n0\n")
  end

  it "adds up to the samples after gc:, trim_path and merge" do
    expect(run(<<~RUBY)).to eq("#{"true\n" * 8}")
      collects = -> { 20.times { GC.start }; burn }
      one = Profiler.run(mode: MODE, timeline: true, &collects)
      sleep 0.05
      other = Profiler.run(mode: MODE, timeline: true, gc: :root, &collects)
      p same?(one), same?(one.gc(:root)), same?(one.gc(:ignore)), same?(other), same?(one.trim_path(Dir.pwd))
      merged = other.merge(one)
      p same?(merged), merged.timeline.size == one.timeline.size + other.timeline.size
      later = other.meta[:started_at_ns] - one.meta[:started_at_ns]
      p merged.timeline.map(&:time) == (one.timeline.map(&:time) + other.timeline.map { |it| it.time + later }).sort
    RUBY
  end

  it "excludes pauses, other labels, and what the parent of a forked child did", :timed do
    printed = run(<<~RUBY)
      session = Profiler.start(timeline: true)
      burn(50)
      session.pause
      burn(50)
      paused_at = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      session.resume
      only = Profiler.start(timeline: true, labels: { job: "a" })
      3.times { |it| Profiler.label(job: %w[b a][it % 2]) { burn(35) } }
      reader, writer = IO.pipe
      pid = fork { burn(50); it = session.stop; writer.puts [same?(it), it.timeline.sum(&:cpu) / 10_000_000].inspect; exit! }
      Process.wait(pid)
      puts reader.gets
      p same?(only.stop.tap { |it| p it.timeline.sum(&:cpu) / 10_000_000, it.timeline.map { |one| one.labels.slice("job") }.uniq })
      profile = session.stop
      paused_at -= profile.meta[:started_at_ns]
      p same?(profile), profile.timeline.none? { |it| it.time.between?(paused_at - 45_000_000, paused_at) }
    RUBY
    expect(printed.lines(chomp: true)).to match(["[true, 5]", "3", [{ "job" => "a" }].inspect, "true", "true", "true"])
  end

  it "is kept with record --timeline and PROFILER_TIMELINE" do
    sizes = "ARGV.each { |it| p Profiler::Profile.load(it).timeline&.size&.positive? }"
    record = %w[record --timeline --quiet -o asked.pb.gz -- ruby -e] + ["#{burn} burn(60)"]
    expect(profiler_child(*record, chdir: box).code).to eq(0)
    { "on" => "1", "off" => "0" }.each do |name, value|
      env = { "PROFILER_TIMELINE" => value, "PROFILER_OUT" => in_box("#{name}.pb.gz"), "PROFILER_QUIET" => "1" }
      expect(ruby_child("-rprofiler/autoload", "-e", "#{burn} burn(60)", env: env).status).to be_success
    end
    result = ruby_child("-rprofiler", "-e", sizes, *%w[asked on off].map { |it| in_box("#{it}.pb.gz") })
    expect([result.out, result.err]).to eq(["true\ntrue\nnil\n", ""])
    expect(profiler_child("report", in_box("on.pb.gz")).out).to match(/^timeline  \d+ events$/)
  end
end
