# frozen_string_literal: true

RSpec.describe "Spans of OpenTelemetry" do
  include_context "with a program"

  let(:prelude) { require_program("spans/stand_in") }

  it "are on the samples taken in them, with the one by which the process entered the trace", :timed do
    rows = run_json(<<~RUBY)
      spans = []
      profile = Profiler.run(spans: true) do
        burn(60)
        in_span do |root|
          burn(40)
          in_span { |child| burn(80); in_span { |leaf| burn(30); spans = [root, child, leaf] } }
          burn(40)
        end
      end
      root, child, leaf = spans
      by = by_ids(profile)
      print_json([{}, ids(root), ids(child, root), ids(leaf, root)].map { |it| by.delete(it) } << by.size << profile.totals["cpu"] / 1e6)
    RUBY
    *figures, others, total = rows
    expect(others).to eq(0)
    figures.zip([60, 80, 80, 30]) { |figure, expected| expect(figure).to be_within(15).of(expected) }
    expect(figures.sum).to be_within(0.001).of(total)
  end

  it "follow the fiber, and are neither begun nor ended by labels" do
    expect(program_json("spans/contexts")).to all(be(true))
  end

  it "are not recorded if they are not sampled, belong to another process, or are malformed" do
    expect(run_json(<<~RUBY)).to all(be(true))
      Profiler.run(spans: true) {}
      checks = []
      in_span(sampled: false) { checks << (seen == [{}]) }
      in_span(remote: true) { |remote| in_span { |span| checks << (seen == [ids(span)]) }; checks << (seen == [{}]) }
      in_span(trace_id: "short") { checks << (seen == [{}]) }
      in_span(trace_id: "\\0" * 16) { checks << (seen == [{}]) }
      print_json(checks)
    RUBY
  end

  it "change nothing of OpenTelemetry before a session wants them, and nothing of what it returns" do
    expect(run_json(<<~RUBY)).to eq([true, true, true, [1, 2], [true, false], "RuntimeError: stop"])
      Profiler.run { in_span { burn(5) } }
      untouched = contexts.singleton_class.ancestors.first == contexts.singleton_class
      plain = Profiler.run { in_span { burn(30) } }.samples.none? { |it| it.labels.key?("trace_id") }
      session = Profiler.start(spans: true)
      touched = contexts.singleton_class.ancestors.first != contexts.singleton_class
      tokens = 2.times.map { contexts.attach(contexts.new(OpenTelemetry.span)) }
      matches = [contexts.detach(2), contexts.detach(2)]
      print_json([untouched, plain, touched, tokens, matches, error { in_span { raise "stop" } }])
    RUBY
  end

  it "do not keep an app from attaching whatever OpenTelemetry takes, in any Ractor" do
    expect(run_json(<<~RUBY, err: match(/\A(.*Ractor.*experimental.*\n)?\z/))).to eq([[1, 2], true, [1, true]])
      session = Profiler.start(spans: true)
      tokens = [contexts.attach(nil), contexts.attach(Object.new)]
      none = seen == [{}]
      in_ractor = Ractor.new do
        token = OpenTelemetry::Context.attach(OpenTelemetry::Context.new(nil)) # the span of none is a constant that no Ractor may see
        [token, OpenTelemetry::Context.detach(token)]
      end
      print_json([tokens, none, in_ractor.respond_to?(:value) ? in_ractor.value : in_ractor.take])
    RUBY
  end

  it "are right again after exceptions from outside, wherever these arrived" do
    late, stale = run_json(<<~RUBY)
      require "timeout"
      session = Profiler.start(spans: true)
      late = stale = 0
      40.times do |round|
        begin
          Timeout.timeout(0.0005 + (round % 7) * 0.0001) { loop { in_span { in_span { } } } }
        rescue Timeout::Error
          late += 1
        end
        contexts.clear # an interrupted attach is one of OpenTelemetry, too
        stale += 1 unless seen == [{}]
      end
      print_json([late, stale])
    RUBY
    expect([late, stale]).to eq([40, 0])
  end

  it "survive compaction, dead fibers and dead threads" do
    expect(run_json(<<~RUBY)).to eq([true, 0])
      session = Profiler.start(spans: true, mode: %i[cpu allocations])
      30.times do
        10.times { Fiber.new { in_span { Object.new; Fiber.yield } }.resume }
        3.times.map { Thread.new { in_span { burn(1); Thread.current.kill } } }.each(&:join)
        GC.compact if GC.respond_to?(:compact)
      end
      profile = session.stop
      known = profile.samples.map { |it| it.labels.values_at("trace_id", "span_id") }.uniq
      print_json([known.compact.size > 30, known.count { |trace, span| trace && (trace.size != 32 || span.size != 16) }])
    RUBY
  end

  it "name the trace of a request in its profile" do
    expect(run_json(<<~RUBY)).to eq([true, true, nil])
      results = []
      app = ->(env) { in_span { |span| env["span"] = span; burn(60) } if env["traced"]; burn(60); [200, {}, []] }
      middleware = Profiler::Middleware.new(app, sample_rate: 1, out: ->(result) { results << result })
      request = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "SCRIPT_NAME" => "", "QUERY_STRING" => "" }
      traced = request.merge("traced" => true)
      [traced, request].each { |env| middleware.call(env)[2].then { |body| body.close if body.respond_to?(:close) } }
      trace_id = traced["span"].context.hex_trace_id
      print_json([results[0].profile.meta[:metadata]["trace_id"] == trace_id, results[0].profile.samples.any? { |it| it.labels["trace_id"] == trace_id },
                  results[1].profile.meta[:metadata]["trace_id"]])
    RUBY
  end

  it "are followed by a continuous session also if the app loads them later, and kept in its files" do
    rows = run_json(<<~RUBY)
      profiles = []
      library = OpenTelemetry
      Object.send(:remove_const, :OpenTelemetry)
      session = Profiler.continuous(period: 0.2, mode: :cpu, spans: true) { |profile| profiles << profile }
      burn(30)
      OpenTelemetry = library
      wait_for { burn(10); profiles.size > 1 }
      spans = []
      in_span { |span| spans << ids(span); burn(60) }
      session.stop
      path = File.join(Dir.mktmpdir, "a.pb.gz")
      Profiler::Profile.merge(*profiles).save(path)
      print_json([spans, by_ids(Profiler::Profile.load(path)).keys.reject(&:empty?)])
    RUBY
    expect(rows.first).to eq(rows.last)
  end
end
