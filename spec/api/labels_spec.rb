# frozen_string_literal: true

require "json"

RSpec.describe "Profiler.label" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    # Milliseconds of CPU by the value of a label.
    def by(profile, name) = profile.samples.group_by { |it| it.labels[name] }.transform_values { |it| it.sum(&:cpu) / 1_000_000 }
  RUBY

  it "nests, adds up, removes labels with nil, and ends with its block" do
    expect(run(<<~RUBY)).to eq("{}\n{:a=>\"1\", :b=>\"x\"}\n{:a=>\"2\"}\n{:a=>\"1\", :b=>\"x\"}\n:thrown\n{}\n[7]\n".then { |it| RUBY_VERSION < "3.4" ? it : it.gsub(/:(\w+)=>/, '\1: ') })
      p Profiler.labels
      Profiler.label(a: 1, "b" => :x) do
        p Profiler.labels
        Profiler.label(a: 2.0.to_i, b: nil) { p Profiler.labels }
        p Profiler.labels
      end
      p(catch(:out) { Profiler.label(a: 1) { throw :out, :thrown } })
      p Profiler.labels
      p [Profiler.label({}) { 7 }]
    RUBY
  end

  it "labels the samples of its block, whether it or the session began first", :timed do
    figures = JSON.parse(run(<<~RUBY))
      require "json"
      profile = nil
      Profiler.label(endpoint: "outer") do
        session = Profiler.start
        burn
        Profiler.label(endpoint: "inner") { burn }
        Thread.new { burn }.join # a thread inherits none
        profile = session.stop
      end
      puts JSON.generate(by(profile, "endpoint"))
    RUBY
    expect(figures.keys).to contain_exactly("outer", "inner", "")
    expect(figures.values).to all(be_between(20, 120))
  end

  it "follows the fiber across resume and Enumerator#next, and is inherited by new fibers", :timed do
    expect(run(<<~RUBY)).to eq("true\n")
      seen = []
      note = ->(want) { seen << [want, Profiler.labels[:request]] }
      session = Profiler.start
      fibers = %w[a b c].map do |request|
        Fiber.new do
          Profiler.label(request: request) do
            enumerator = Enumerator.new { |out| loop { note.(request); out << 1 } }
            5.times { note.(request); enumerator.next; Fiber.yield; note.(request); burn(12) }
          end
          note.(nil)
        end
      end
      6.times { fibers.each { |it| it.resume if it.alive?; note.(nil) } }
      profile = session.stop
      abort seen.reject { |want, got| want == got }.inspect unless seen.all? { |want, got| want == got }
      p by(profile, "request").slice("a", "b", "c").values.all? { |it| it >= 15 }
    RUBY
  end

  it "is inherited where a fiber is created, not where it is resumed" do
    skip "before Ruby 3.2 nothing tells when a fiber is made" if RUBY_VERSION < "3.2"

    expect(run(<<~RUBY)).to eq("[\"maker\", \"maker\"]\n")
      Profiler.run do
        fiber = Profiler.label(request: "maker") { Fiber.new { Fiber.yield Profiler.labels[:request]; Profiler.labels[:request] } }
        p [1, 2].map { Profiler.label(request: "other") { fiber.resume } }
      end
    RUBY
  end

  it "refuses invalid labels before the block runs" do
    expect(run(<<~RUBY)).to eq(<<~TEXT)
      [{ a: Object }, { 1 => 2 }, { "" => 1 }, (1..40).to_h { |it| [it.to_s, 1] }].each do |labels|
        Profiler.label(labels) { puts "it ran" }
      rescue ArgumentError => e
        puts e.message
      end
      begin
        Profiler.label(a: 1)
      rescue ArgumentError => e
        puts e.message
      end
      p Profiler.label("a" * 300 => "é" * 200) { Profiler.labels.map { |name, value| [name.size, value.bytesize, value.valid_encoding?] } }
      p Profiler.label(a: "\\xff\\0") { Profiler.labels[:a].valid_encoding? }
      p Profiler.labels
    RUBY
      the label :a cannot be Object (allowed: String, Symbol, Numeric, true, false, and nil to take it away)
      1 is not the name of a label (allowed: a Symbol or a String)
      "" is not the name of a label (allowed: a Symbol or a String)
      40 labels at once are too many (allowed: 32)
      no block given
      [[256, 256, true]]
      true
      {}
    TEXT
  end

  it "bounds the number of label sets: later ones become (other), and the header says so", :timed do
    expect(run(<<~RUBY)).to eq("true\ntrue\ntrue\n")
      rss = -> { File.read("/proc/self/statm").split[1].to_i * 4096 }
      profile = Profiler.run do
        5_000.times { |it| Profiler.label(request: it) { } }
        GC.start
        before = rss.call
        100_000.times { |it| Profiler.label(request: it + 5_000) { } }
        GC.start
        p rss.call - before < 16 << 20
        Profiler.label(request: "late") { burn }
      end
      p by(profile, "request").fetch("(other)") >= 30
      p profile.meta[:notes].any? { |it| it.match?(/too many different sets of labels: \\d+ times they became \\(other\\)/) }
    RUBY
  end

  # CHECKS=10000000 spec/programs/label_storm.rb takes four minutes.
  it "labels each request with its own, in every combination of fibers and threads" do
    result = ruby_child("spec/programs/label_storm.rb", env: { "CHECKS" => ENV.fetch("LABEL_CHECKS", "300000") }, timeout: 600)
    expect(result.status).to be_success, result.err
    expect(result.out).to match(/\A\d+ checks, \d+ of \d+ samples inside/)
  end

  it "survives GC.compact, dead threads and dead fibers" do
    expect(run(<<~RUBY, timeout: 120)).to eq("0\n")
      GC.auto_compact = true
      wrong = 0
      Profiler.run(interval: 50) do
        Array.new(4) do |worker|
          Thread.new do
            300.times do |turn|
              mine = "\#{worker}.\#{turn}"
              Profiler.label(request: mine) do
                fiber = Fiber.new { 3.times { Fiber.yield Profiler.labels[:request] } }
                3.times { wrong += 1 unless fiber.resume == mine }
                Thread.new { wrong += 1 unless Profiler.labels.empty? }.join if turn % 50 == 0
              end
              wrong += 1 unless Profiler.labels.empty?
              GC.compact if turn % 100 == worker
            end
          end
        end.each(&:join)
      end
      p wrong
    RUBY
  end

  it "numbers fibers for sessions with fibers: true and for no other", :timed do
    figures = JSON.parse(run(<<~RUBY))
      require "json"
      whole = Profiler.start
      numbers = ->(rows) { rows.map { |it| it.labels["fiber"] }.tally.keys }
      profile = Profiler.run(fibers: true) do
        burn(20)
        jobs = Array.new(3) { |it| Fiber.new { Profiler.label(job: it) { 5.times { burn(20); GC.compact if it == 1; Fiber.yield } } } }
        5.times { jobs.each(&:resume) }
        GC.start
        5.times { burn(20) }
      end
      by_job = profile.samples.group_by { |it| it.labels["job"] }.transform_values(&numbers)
      again = numbers.(Profiler.run(fibers: true) { burn(20); Fiber.new { burn(20) }.resume }.samples)
      puts JSON.generate(by_job: by_job, again: again, plain: numbers.(whole.stop.samples), later: numbers.(Profiler.run { burn(20); Fiber.new { burn(20) }.resume }.samples))
    RUBY
    own, *jobs = figures["by_job"].values_at("", "0", "1", "2")
    expect(jobs).to contain_exactly(["2"], ["3"], ["4"]) # one number each, through GCs and under labels
    expect(own).to include("1") # and maybe what a fiber did before its label
    expect(figures["again"]).to contain_exactly("1", "5") # a number is one fiber's, in later sessions too
    expect(figures.values_at("plain", "later")).to eq([[nil], [nil]])
  end
end
