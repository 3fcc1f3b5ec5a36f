# frozen_string_literal: true

RSpec.describe "Profiler.label" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    # Milliseconds of CPU by the value of a label.
    def by(profile, name) = profile.samples.group_by { |it| it.labels[name] }.transform_values { |it| it.sum(&:cpu) / 1_000_000 }
  RUBY

  it "nests, adds up, removes labels with nil, and ends with its block" do
    expect(run_json(<<~RUBY)).to eq(seen: [{}, { a: "1", b: "x" }, { a: "2" }, { a: "1", b: "x" }, {}], thrown: "thrown", value: 7)
      seen = [Profiler.labels]
      Profiler.label(a: 1, "b" => :x) do
        seen << Profiler.labels
        Profiler.label(a: 2.0.to_i, b: nil) { seen << Profiler.labels }
        seen << Profiler.labels
      end
      thrown = catch(:out) { Profiler.label(a: 1) { throw :out, :thrown } }
      print_json(seen: seen << Profiler.labels, thrown: thrown, value: Profiler.label({}) { 7 })
    RUBY
  end

  it "labels the samples of its block, whether it or the session began first", :timed do
    figures = run_json(<<~RUBY)
      profile = nil
      used = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :millisecond)
      Profiler.label(endpoint: "outer") do
        session = Profiler.start
        burn
        Profiler.label(endpoint: "inner") { burn }
        Thread.new { burn }.join # a thread inherits none
        profile = session.stop
      end
      used = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :millisecond) - used
      print_json([by(profile, "endpoint"), used])
    RUBY
    figures, used = figures
    expect(figures.keys).to contain_exactly(:outer, :inner, :"")
    expect(figures.values).to all(be >= 20)
    expect(figures.values.sum).to be <= used + 1
  end

  it "follows the fiber across resume and Enumerator#next, and is inherited by new fibers", :timed do
    wrong, burnt = run_json(<<~RUBY)
      seen = []
      note = ->(expected) { seen << [expected, Profiler.labels[:request]] }
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
      print_json([seen.reject { |expected, got| expected == got }, by(session.stop, "request")])
    RUBY
    expect(wrong).to eq([])
    expect(burnt).to include(a: be >= 15, b: be >= 15, c: be >= 15)
  end

  it "is inherited where a fiber is created, not where it is resumed" do
    skip "before Ruby 3.2 nothing tells when a fiber is made" if RUBY_VERSION < "3.2"

    expect(run_json(<<~RUBY)).to eq(%w[maker maker])
      Profiler.run do
        fiber = Profiler.label(request: "maker") { Fiber.new { Fiber.yield Profiler.labels[:request]; Profiler.labels[:request] } }
        print_json([1, 2].map { Profiler.label(request: "other") { fiber.resume } })
      end
    RUBY
  end

  it "knows the labels under which a fiber was created while a session runs, and on newer Rubies always" do
    expect(run_json(<<~RUBY)).to eq(["maker", RUBY_VERSION < "3.2" ? nil : "maker"])
      ask = -> { Profiler.label(request: "maker") { Fiber.new { Profiler.labels[:request] }.resume } }
      without = ask.call
      known = Profiler.run { ask.call }.value
      print_json([known, without])
    RUBY
  end

  it "refuses invalid labels before the block runs" do
    refused = run_json(<<~RUBY)
      invalid = [{ a: Object }, { 1 => 2 }, { "" => 1 }, (1..40).to_h { |it| [it.to_s, 1] }]
      print_json([*invalid.map { |labels| error { Profiler.label(labels) { abort "it ran" } } }, error { Profiler.label(a: 1) }, Profiler.labels])
    RUBY
    expect(refused).to eq(["ArgumentError: the label :a cannot be Object (allowed: String, Symbol, Numeric, true, false, and nil to remove it)",
                           "ArgumentError: 1 is not the name of a label (allowed: a Symbol or a String)",
                           'ArgumentError: "" is not the name of a label (allowed: a Symbol or a String)',
                           "ArgumentError: 40 labels at once are too many (allowed: 32)", "ArgumentError: no block given", {}])
  end

  it "refuses something that is not a Hash of labels, and values of other classes, with a message that names them" do
    refused = run_json(<<~'RUBY')
      invalid = [5, "x", [[:a, 1]], Object, BasicObject.new, { a: BasicObject.new }]
      print_json([*invalid.map { |labels| error { Profiler.label(labels) { abort "it ran" } }.gsub(/0x\h+/, "0x") },
                  error { Profiler.run(static_labels: { a: BasicObject.new }) { } }.gsub(/0x\h+/, "0x"), Profiler.label(nil, b: 1) { Profiler.labels }])
    RUBY
    allowed = "(allowed: names as Symbols or Strings, with their values)"
    values = "(allowed: String, Symbol, Numeric, true, false, and nil to remove it)"
    expect(refused).to eq([*["5", '"x"', "[[:a, 1]]", "Object", "#<BasicObject:0x>"].map { |it| "ArgumentError: #{it} is not a Hash of labels #{allowed}" },
                           *["ArgumentError: the label :a cannot be #<BasicObject:0x> #{values}"] * 2, { b: "1" }])
  end

  it "reads names and values in any encoding" do
    %w[C C.UTF-8].each do |locale|
      labels, selected, marker = run_json(<<~'RUBY', env: { "LC_ALL" => locale })
        texts = %w[UTF-16LE UTF-16BE UTF-32LE ISO-8859-1].map { |name| "d\u00E9ab".encode(name) }
        labels = texts.map { |text| Profiler.label(text => text) { Profiler.labels } }
        labels += texts.map { |text| Profiler.label(text.to_sym => text.to_sym) { Profiler.labels } }
        profile = Profiler.run(labels: { texts[0] => "1" }, static_labels: { texts[1] => texts[2] }) do
          Profiler.label("d\u00E9ab" => 1) { burn }
          texts.each { |text| Profiler.marker(text) }
        end
        print_json([labels.uniq, profile.samples.map { |it| it.labels.except("gc", "gc_reason") }.uniq, profile.markers.map(&:name).uniq])
      RUBY
      expect([labels, selected, marker]).to eq([[{ "déab": "déab" }], [{ "déab": "1" }], ["déab"]])
    end
  end

  it "makes valid text of bytes that are none in any encoding" do
    valid = run_json(<<~'RUBY')
      texts = Encoding.list.map { |encoding| "\xff\xd8a".dup.force_encoding(encoding) }
      print_json(texts.map { |text| Profiler.label(text => text) { Profiler.labels }.flatten.map { |it| it.to_s.valid_encoding? && !it.to_s.include?("\0") } }.uniq)
    RUBY
    expect(valid).to eq([[true, true]])
  end

  it "cuts long texts, and makes all of them valid" do
    long, invalid = run_json(<<~'RUBY')
      long = Profiler.label("a" * 300 => "é" * 200) { Profiler.labels.map { |name, value| [name.size, value.bytesize, value.valid_encoding?] } }
      print_json([long, Profiler.label(a: "\xff\0") { Profiler.labels[:a].valid_encoding? }])
    RUBY
    expect([long, invalid]).to eq([[[256, 256, true]], true])
  end

  it "bounds the number of label sets: later ones become (other), and the header says so", :timed do
    more, late, notes = run_json(<<~RUBY)
      rss = -> { GC.start.then { File.read("/proc/self/statm").split[1].to_i * 4096 } }
      more = nil
      profile = Profiler.run do
        5_000.times { |it| Profiler.label(request: it) { } }
        before = rss.call
        100_000.times { |it| Profiler.label(request: it + 5_000) { } }
        more = rss.call - before
        Profiler.label(request: "late") { burn }
      end
      # Sets are forgotten with code that is gone, at any time. The next ones are then kept apart again.
      print_json([more, by(profile, "request").values_at("(other)", "late").compact.sum, profile.meta[:notes]])
    RUBY
    expect(more).to be < 16 << 20
    expect(late).to be >= 30
    expect(notes).to include(/too many different sets of labels: recorded as \(other\) \d+ times/)
  end

  # CHECKS=10000000 spec/programs/labels/storm.rb takes four minutes.
  it "labels each request with its own, in every combination of fibers and threads" do
    result = ruby_child("spec/programs/labels/storm.rb", env: { "CHECKS" => ENV.fetch("LABEL_CHECKS", "300000") }, timeout: 600)
    expect(result.status).to be_success, result.err
    expect(result.out).to match(/\A\d+ checks, \d+ of \d+ samples inside/)
  end

  it "survives GC.compact, dead threads and dead fibers" do
    expect(program_json("labels/compaction", timeout: 120)).to eq(asked: 4_824, wrong: 0)
  end

  it "numbers fibers for sessions with fibers: true and for no other", :timed do
    figures = run_json(<<~RUBY)
      whole = Profiler.start
      numbers = ->(rows) { rows.map { |it| it.labels["fiber"] }.tally.keys }
      profile = Profiler.run(fibers: true) do
        burn_in_pieces(60)
        jobs = Array.new(3) { |it| Fiber.new { Profiler.label(job: it) { 5.times { burn_in_pieces(40); GC.compact if it == 1; Fiber.yield } } } }
        5.times { jobs.each(&:resume) }
        GC.start
        5.times { burn(20) }
      end
      again, later = [true, false].map { |choice| numbers.(Profiler.run(fibers: choice) { burn_in_pieces(60); Fiber.new { burn_in_pieces(60) }.resume }.samples) }
      print_json(by_job: profile.samples.group_by { |it| it.labels["job"] }.transform_values(&numbers), again: again, plain: numbers.(whole.stop.samples), later: later)
    RUBY
    own, *jobs = figures[:by_job].values_at(:"", :"0", :"1", :"2")
    expect(jobs).to contain_exactly(["2"], ["3"], ["4"]) # one number each, through GCs and under labels
    expect(own).to include("1") # and maybe what a fiber did before its label
    expect(figures[:again]).to contain_exactly("1", "5") # a number is one fiber's, in later sessions too
    expect(figures).to include(plain: [nil], later: [nil])
  end
end
