# frozen_string_literal: true

# The slow request among many, found after it was slow.
RSpec.describe "The middleware with slower_than:" do
  include_context "with a program"

  let(:prelude) { require_program("rack/slow_requests") }

  it "keeps the one slow request among many at once: its stack, its waits, who held the GVL, and nothing of others", :timed do
    env = %w[REQUESTS MS].to_h { |it| [it, ENV.fetch(it, nil)] }
    names, times, took, blamed, markers, reasons = run_json(<<~'RUBY', env: env, timeout: 300)
      slow = at_once(app, 32)
      # On a busy machine quick requests can be slow as well, and the slow one is blamed for their waits.
      result = FOUND.find { |it| samples_in(it.profile, "Slow.serve").any? { |row| !row.labels.key?("waiter") } }
      blame, own = result.profile.samples.partition { |it| it.labels.key?("waiter") }
      names = own.flat_map { |it| it.frames.map(&:name) }.uniq.grep(/Quick|Slow/).sort
      waited = samples_in(result.profile, "Slow.query").select { |it| it.state == :waiting }.sum(&:wall)
      print_json([names, [own.sum(&:cpu), own.sum(&:wall), waited], [*slow["took"], $query], blame.sum(&:gvl_blame),
                  result.profile.markers.map(&:name), FOUND.map(&:reason).uniq])
    RUBY
    expect(names).to eq(%w[Slow.compute Slow.query Slow.serve])
    expect(times[0]).to be_within(3_000_000).of(took[0])
    # The middleware's own part is waiting for the GVL too, with 31 others.
    expect(times[1]).to be_between(took[1] - 3_000_000, took[1] + 500_000_000)
    expect(times[2]).to be_between(150_000_000, took[2] + 150_000_000)
    expect(blamed).to be > 50_000_000 if RUBY_VERSION >= "3.3"
    expect([markers, reasons]).to eq([["the end"], ["slow"]])
  end

  it "watches all requests with one session, whose samples are in none" do
    sessions, found, after = run_json(<<~'RUBY')
      hold, go = Queue.new, Queue.new
      inner = Profiler::Middleware.new(->(_env) { hold << true; go.pop; [200, {}, []] }, slower_than: 10, out: ->(it) { FOUND << it })
      threads = Array.new(5) { Thread.new { inner.call({}) } }
      5.times { hold.pop }
      sessions = ObjectSpace.each_object(Profiler::Session).count(&:running?)
      threads.each { go << true }
      threads.each(&:join)
      print_json([sessions, FOUND.size, open_sessions])
    RUBY
    expect([sessions, found, after]).to eq([1 + 5, 0, 0])
  end

  it "ends its session a second after the last request, and not between requests" do
    states, begun = run_json(<<~'RUBY')
      begun = 0
      counted = Module.new { define_method(:begin) { |options, **others, &block| begun += 1 if others[:slices]; super(options, **others, &block) } }
      Profiler::Session.singleton_class.prepend(counted)
      watched = app
      states = Array.new(2) { watched.call({}); [Profiler.running?, open_sessions] }
      30.times { watched.call({}); sleep 0.05 }
      print_json([states, begun])
    RUBY
    expect(states).to eq([[true, 0]] * 2)
    expect(begun).to eq 3
  end

  it "keeps a slow request until another profiler took the signal, whatever comes after, and watches again later" do
    kept, left = program_json("rack/stolen_signal", err: match(/\A.*SIGPROF already has a handler.*\n\z/))
    expect(kept).to match([be_between(-15, 15), be_between(-15, 15)])
    expect(left).to eq 0
  end

  it "reports once that the signal is taken, tries again each second, and begins when it is free" do
    tries, kept = run_json(<<~'RUBY', err: match(/\A\[profiler\] a profile was lost: Profiler::Unsupported: .*SIGPROF.*\n\z/))
      trap("PROF") { nil }
      tries = 0
      Profiler::Session.singleton_class.prepend(Module.new { define_method(:begin) { |*arguments, **options, &block| tries += 1; super(*arguments, **options, &block) } })
      watched = Profiler::Middleware.new(->(_env) { [200, {}, [burn(1).to_s]] }, slower_than: 0, out: ->(it) { FOUND << it })
      began = now
      100.times { watched.call({}) }
      refused = [tries, 1 + (now - began) / 1_000_000_000]
      3.times { sleep 0.4; watched.call({}) }
      trap("PROF", "SYSTEM_DEFAULT")
      sleep 1
      watched.call({})
      print_json([refused, FOUND.size])
    RUBY
    expect(tries[0]).to be_between(1, tries[1])
    expect(kept).to eq 1
  end

  it "makes way for sessions of other engines between two requests" do
    engines = run_json(<<~'RUBY')
      watched = app
      print_json(%i[setitimer ticker safepoint].map { |it| watched.call({}); Profiler.run(engine: it) { burn(20) }.meta[:engine] })
    RUBY
    expect(engines).to eq(%w[setitimer ticker safepoint])
  end

  it "ticks only on threads that serve requests" do
    captured = run_json(<<~'RUBY')
      other = Thread.new { burn(600) }
      watched = Profiler::Middleware.new(->(_env) { sleep 0.4; [200, {}, []] }, slower_than: 0, out: ->(it) { FOUND << it })
      watched.call({})
      other.join
      print_json(FOUND.first.profile.stats[:captured])
    RUBY
    expect(captured).to be < 20
  end

  it "leaves nothing in a child that ends the request and gets no other, nor after an exception at its begin" do
    child, raised, running = program_json("rack/forked_request")
    expect([child, raised, running]).to eq(["false", "RuntimeError: from outside", false])
  end

  it "keeps label values apart after thousands of requests" do
    labels = run_json(<<~'RUBY')
      watched = Profiler::Middleware.new(->(env) { Profiler.label(request: env["id"]) { burn(env["slow"] || 0) }; [200, {}, []] }, slower_than: 0.05, out: ->(it) { FOUND << it })
      6_000.times { |number| watched.call({ "id" => "r#{number}" }) }
      watched.call({ "id" => "slow", "slow" => 80 })
      print_json(FOUND.last.profile.samples.map { |it| it.labels["request"] || it.labels[:request] }.compact.uniq)
    RUBY
    expect(labels).to eq(["slow"])
  end
end
