# frozen_string_literal: true

# The value of an option may be anything: a BasicObject, text in UTF-16, an object whose methods raise. The error names the option
# and what is allowed, and no code of the app runs for it.
RSpec.describe "Values of options that may be anything" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    require "tmpdir"
    require "profiler/rspec"
    require "profiler/sidekiq"
    Dir.chdir(Dir.mktmpdir.tap { |box| at_exit { FileUtils.rm_rf(box) } })
    class Hostile
      %i[inspect to_s hash == eql? class is_a? nil? === method_missing].each { |name| define_method(name) { |*| raise "the app's #{name} was called" } }
    end
    # A number of the app, all of whose methods raise; and one that can be converted, but says nothing.
    class Raising < Numeric
      (Numeric.instance_methods + Comparable.instance_methods - %i[object_id __send__ __id__ equal? !] + %i[to_f to_r to_i to_int to_s inspect]).each { |name| define_method(name) { |*| raise "the app's #{name} was called" } }
    end
    class Mute < Numeric
      def to_f = 1.0
      def to_s = raise("the app's to_s was called")
      %i[inspect * / + - <=> > < coerce floor ceil round].each { |name| define_method(name) { |*| raise "the app's #{name} was called" } }
    end
    def hostile_values = [BasicObject.new, Hostile.new, "ab".encode("UTF-16LE"), "\xff", (1..), Complex(1, 2), [BasicObject.new], Raising.new, Mute.new, 0.0 / 0, 1 / 0.0, -1e300, 1e300, 10**40, [nil]]
    # What is raised for each value, unless it is an ArgumentError that is short enough to be read.
    def wrong(name)
      hostile_values.filter_map do |value|
        raised = error { yield value }
        "#{name} #{Profiler::AnyObject.text(value)}: #{raised.scrub[0, 200]}" unless raised.start_with?("Errno::") || (raised.valid_encoding? && raised.match?(/\A(ArgumentError|Profiler::\w+): |\Anone\z/) && raised.size < 1_000)
      end
    end
    include Profiler::RSpec
  RUBY

  it "are refused with an ArgumentError, or taken" do
    expect(run_json(<<~'RUBY')).to eq([])
      profile = Profiler.run(timeline: true) { Profiler.marker("x") { burn } }
      app = ->(_env) { [200, {}, []] }
      found = []
      %i[mode interval frequency max_overhead every threads labels static_labels depth engine gc timeline trim_path name metadata].each do |option|
        found.concat(wrong("run #{option}") { |value| Profiler.run(option => value) { } })
      end
      found.concat(wrong("run format") { |value| Profiler.run(out: "x.svg", format: value) { } })
      found.concat(wrong("run out") { |value| Profiler.run(out: value) { } })
      found.concat(wrong("run metadata value") { |value| Profiler.run(metadata: { a: value }) { } if BasicObject === value && !(Object === value) })
      every = %i[mode interval frequency every every_bytes threads labels static_labels depth engine gc ignore_gc timeline raw fibers spans trim_path name metadata]
      (every + %i[out format keep to period max_overhead]).each do |option|
        found.concat(wrong("continuous #{option}") { |value| Profiler.continuous(**{ out: "d" }, option => value).stop })
      end
      (every + %i[out format keep minutes memory at signal slower_than gc_above gvl_above max_overhead]).each do |option|
        found.concat(wrong("flight #{option}") { |value| Profiler.flight_recorder(**{ out: "d" }, option => value).stop })
      end
      %i[permit token parameter route mode interval sample_rate slower_than out format keep concurrency rate duration].each do |option|
        found.concat(wrong("middleware #{option}") { |value| Profiler::Middleware.new(app, option => value) })
      end
      %i[permit mode out].each { |option| found.concat(wrong("sidekiq #{option}") { |value| Profiler::Sidekiq.with(option => value) }) }
      %i[at permit token concurrency frequency most_seconds dimensions].each { |option| found.concat(wrong("pprof #{option}") { |value| Profiler::Pprof.new(option => value) }) }
      %i[token headers timeout service labels dimensions values].each do |option|
        [Profiler::Pyroscope, Profiler::Otlp].each { |sink| found.concat(wrong("#{sink} #{option}") { |value| sink.new("http://127.0.0.1:1", option => value) }) }
      end
      %i[labels static_labels metadata].each { |option| found.concat(wrong("run value of #{option}") { |value| Profiler.run(option => { a: value }) { } }) }
      %i[labels headers].each { |option| found.concat(wrong("value of #{option}") { |value| Profiler::Otlp.new("http://127.0.0.1:1", option => { "a" => value }) }) }
      %i[labels headers].each { |option| found.concat(wrong("name in #{option}") { |value| Profiler::Pyroscope.new("http://127.0.0.1:1", option => {}.compare_by_identity.tap { |it| it[value] = "a" }) }) }
      found.concat(wrong("label") { |value| Profiler.label(a: value) { } })
      found.concat(wrong("percentiles") { |value| Profiler.trace("String#upcase") { "a".upcase }.percentiles(value) })
      found.concat(wrong("trace max_overhead") { |value| Profiler.trace("String#upcase", max_overhead: value) { } })
      found.concat(wrong("url") { |value| Profiler::Otlp.new(value) })
      found.concat(wrong("listen") { |value| Profiler::Pprof.listen(value) })
      found.concat(wrong("load") { |value| Profiler::Profile.load(value) })
      found.concat(wrong("merge") { |value| Profiler::Profile.merge(profile, value) })
      found.concat(wrong("trace") { |value| Profiler.trace("String#upcase", limit: value) { } })
      found.concat(wrong("memory") { |value| Profiler.memory(why: value) })
      found.concat(wrong("leaks") { |value| Profiler.leaks(rounds: value) { } })
      found.concat(wrong("allocations_of") { |value| Profiler.allocations_of(warm_up: value) { } })
      found.concat(wrong("control") { |value| Profiler.control(directory: value).close })
      found.concat(wrong("dump_signal") { |value| Profiler.control(dump_signal: value).close })
      found.concat(wrong("matcher") { |value| allocate_at_most(value).matches?(-> { }) })
      found.concat(wrong("matcher of") { |value| allocate_at_most(0).of(value).matches?(-> { }) })
      found.concat(wrong("marker") { |value| Profiler.marker(value) { } })
      %i[dump by tree find_methods].each do |question|
        found.concat(wrong(question) { |value| question == :tree ? profile.tree(type: value) : profile.public_send(question, value) })
      end
      %i[diff growth merge trim_path].each { |question| found.concat(wrong(question) { |value| profile.public_send(question, value) }) }
      %i[type sort tolerance].each { |option| found.concat(wrong("diff #{option}") { |value| profile.diff(profile, option => value) }) }
      %i[title style limit].each { |option| found.concat(wrong("dump #{option}") { |value| profile.dump(:svg, option => value) }) }
      found.concat(wrong("filter over") { |value| profile.filter(during: "x", over: value) })
      %i[limit sort by type width].each { |option| found.concat(wrong("report #{option}") { |value| profile.report(option => value) }) }
      %i[focus thread during].each { |option| found.concat(wrong("filter #{option}") { |value| profile.filter(option => value) }) }
      print_json(found)
    RUBY
  end

  it "are described in messages of bounded size" do
    described = run_json(<<~'RUBY')
      nested = (1..40).inject([]) { |inner, _| [inner] * 2 }
      shared = {}.tap { |it| it[:it] = it }
      values = [nil, true, 5, 1.5, 2**80, 1r / 3, :a, "a", "\xff", 1..5, (1...), /x/, Object, Hostile, Class.new, [1, [2]], { a: "b" }, [], {}, "x" * 10_000_000, [1] * 1_000, nested, shared, Hostile.new,
                Class.new(String) { def inspect = raise("x") }.new("a"), Class.new(Array) { def each = raise("x") }.new([7]), BasicObject.new]
      print_json(values.map { |value| Profiler::AnyObject.text(value).gsub(/0x\h+/, "0x") })
    RUBY
    expect(described.map { |text| text.size > 100 ? "#{text[0, 20]}(#{text.size > 203 ? "long" : "cut"})" : text }).to eq(
      ["nil", "true", "5", "1.5", (2**80).to_s, "(1/3)", ":a", '"a"', '"\xFF"', "1..5", "1...", "/x/", "Object", "Hostile", "#<Class:0x>", "[1, [2]]", '{:a => "b"}', "[]", "{}",
       "\"#{"x" * 19}(cut)", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...]", "[[[#<Array:0x>, #<Ar(cut)", "{:it => {:it => {:it => #<Hash:0x>}}}", "#<Hostile:0x>", '"a"', "[7]", "#<BasicObject:0x>"]
    )
  end

  it "are labels, names of markers and their like by their bytes, whatever their own methods do" do
    labels = run_json(<<~'RUBY')
      text = Class.new(String) { %i[to_s to_str inspect encoding hash].each { |name| define_method(name) { raise "the app's #{name}" } } }.new("abc")
      number = Class.new(Numeric) { def to_s = "\xff" }.new
      own = Class.new(Hash) { def merge(*) = 5 }[a: 1]
      changing = { a: 1 }
      changing[:b] = Class.new(Numeric) { define_method(:to_s) { changing[:c] = "2" } }.new
      refused = [Hostile.new, { a: Hostile.new }, { Object.new.tap { |it| def it.inspect = raise("x") } => 1 }, false, [1] * 1_000_000].map { |wrong| error { Profiler.label(wrong) { abort "it ran" } }.gsub(/0x\h+/, "0x")[0, 45] }
      profile = Profiler.run { Profiler.marker(text) { 1 } }
      print_json(labels: [{ a: text }, { a: number }, own, changing].map { |given| Profiler.label(given, z: 1) { Profiler.labels } }, refused: refused, markers: profile.markers.map(&:name),
                 raised: error { Profiler.marker(text) { raise "the block's" } })
    RUBY
    expect(labels).to eq(labels: [{ a: "abc", z: "1" }, { a: "\uFFFD", z: "1" }, { a: "1", z: "1" }, { a: "1", b: "2", z: "1" }], markers: ["abc"], raised: "RuntimeError: the block's",
                         refused: ["ArgumentError: #<Hostile:0x> is not a Hash of labels (allowed", "ArgumentError: the label :a cannot be #<Hostile:0x> (allowed:",
                                   "ArgumentError: #<Object:0x> is not the name of a label (allo", "ArgumentError: false is not a Hash of labels (allowed: names a",
                                   "ArgumentError: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...] is not a "].map { |text| text[0, 45] })
  end
end
