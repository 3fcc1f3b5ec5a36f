# frozen_string_literal: true

# The events of a timeline add up to the samples.
RSpec.describe "Profile#timeline" do
  include_context "with a box"
  include_context "with a program"

  let(:prelude) { require_program("timeline/phases") }

  it "has the phases of each thread in order", :timed do
    json = program_json("timeline/threads")
    expect(json).to include(same: true, read: true, phases: %i[one other].to_h { |name| [name, %w[first_burn nap second_burn]] })
    expect(json[:times]).to eq(json[:times].sort).and all(be_between(0, json[:stats][:duration_ns] + 5_000_000))
    # Where waits are sampled it has also been waiting until it had the GVL again.
    more = RUBY_VERSION >= "3.3" ? 10 : 150
    json[:naps].zip(json[:own]) { |nap, (_, own)| expect(nap).to be_between(90, own + more) }
    json[:clocks].zip(json[:own]) { |cpu, (own, _)| expect(cpu).to be_between(own - 1, own + 20) }
    expect(json[:stats]).to include(timeline_kept: be > 50, timeline_dropped: 0)
  end

  it "returns frozen events with all that samples have, created on demand" do
    json = run_json(<<~RUBY)
      session = Profiler.start(raw: true, static_labels: { env: "test" })
      Profiler.label(job: "a") { burn_in_pieces(120) }
      profile = session.snapshot
      burn
      whole = session.stop
      event = profile.timeline.find { |it| it.state == :running && it.count == 1 && it.labels.key?("job") }
      print_json(
        timeline: profile.timeline.class.name, sizes: [profile.timeline.size, profile.timeline.count, profile.stats[:timeline_kept]].uniq.size,
        frozen: [event, event.frames, event.labels, event.thread_name].map(&:frozen?), labels: event.labels, state: event.state,
        frame: event.frames.first.class.name, same_members: event.members == [:time, *Profiler::Sample.members], same: [profile, whole].map { |it| same?(it) },
        firsts: [whole, profile].map { |it| it.timeline.first(5).map(&:to_h) }, cpu: [profile, whole].map { |it| it.timeline.sum(&:cpu) }
      )
    RUBY
    expect(json).to include(timeline: "Enumerator", sizes: 1, frozen: [true] * 4, labels: { env: "test", job: "a" }, state: "running",
                            frame: "Profiler::Frame", same_members: true, same: [true, true])
    expect(json[:firsts][0]).to eq(json[:firsts][1])
    expect(json[:firsts][0].size).to eq(5)
    expect(json[:cpu]).to match([be_positive, be > json[:cpu][0]])
  end

  it "is nil by default" do
    expect(run_json("print_json([Profiler.run { burn }.timeline, Profiler.run(timeline: false) { }.timeline, Profiler.run { }.stats[:timeline_kept]])")).to eq([nil, nil, 0])
  end

  it "adds up to the samples after gc:, trim_path and merge" do
    json = run_json(<<~RUBY)
      collects = -> { 20.times { GC.start }; burn_in_pieces(120) }
      one = Profiler.run(mode: MODE, timeline: true, &collects)
      sleep 0.05
      other = Profiler.run(mode: MODE, timeline: true, gc: :root, &collects)
      merged = other.merge(one)
      views = { one: one, root: one.gc(:root), ignore: one.gc(:ignore), other: other, trimmed: one.trim_path(Dir.pwd), merged: merged }
      later = other.meta[:started_at_ns] - one.meta[:started_at_ns]
      print_json(differ: views.reject { |_, it| same?(it) }.keys, sizes: views.transform_values { |it| it.timeline.size },
                 merged: merged.timeline.map(&:time), expected: (one.timeline.map(&:time) + other.timeline.map { |it| it.time + later }).sort)
    RUBY
    expect(json[:differ]).to eq([])
    expect(json[:sizes].values).to all(be > 5)
    expect(json[:merged]).to eq(json[:expected])
  end

  it "excludes pauses, other labels, and what the parent of a forked child did", :timed do
    child, labelled, labels, whole = program_json("timeline/left_out")
    expect([child, labelled, labels, whole]).to eq([[true, true], [true, true], [{ job: "a" }], [true, 0]])
  end

  it "is kept with record --timeline and PROFILER_TIMELINE" do
    record = %w[record --timeline --quiet -o asked.pb.gz -- ruby -e] + ["#{burn} burn(60)"]
    expect(profiler_child(*record, chdir: box).code).to eq(0)
    { "on" => "1", "off" => "0" }.each do |name, value|
      env = { "PROFILER_TIMELINE" => value, "PROFILER_OUT" => in_box("#{name}.pb.gz"), "PROFILER_QUIET" => "1" }
      expect(ruby_child("-rprofiler/autoload", "-e", "#{burn} burn(60)", env: env).status).to be_success
    end
    kept = run_json("print_json(%w[asked on off].map { |it| Profiler::Profile.load(it + '.pb.gz').timeline&.size })", chdir: box)
    expect(kept).to match([be_positive, be_positive, nil])
    expect(profiler_child("report", in_box("on.pb.gz")).out).to match(/^timeline  \d+ events$/)
  end
end
