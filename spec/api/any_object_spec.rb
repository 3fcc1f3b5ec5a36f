# frozen_string_literal: true

# The value of an option may be anything: a BasicObject, text in UTF-16, an object whose methods raise. The error names the option
# and what is allowed, and no code of the app runs for it.
RSpec.describe "Values of options that may be anything" do
  include_context "with a program"

  let(:prelude) { require_program("any_object/hostile") }

  it "are refused with an ArgumentError, or taken" do
    expect(program_json("any_object/options")).to eq([])
  end

  it "are described in messages of bounded size" do
    described = run_json(<<~'RUBY')
      nested = (1..40).inject([]) { |inner, _| [inner] * 2 }
      shared = {}.tap { |it| it[:it] = it }
      values = [nil, true, 5, 1.5, 2**80, 1r / 3, :a, "a", "\xff", 1..5, (1...), /x/, Object, Hostile, Class.new, [1, [2]], { a: "b" }, [], {}, "x" * 10_000_000, [1] * 1_000, nested, shared, Hostile.new,
                Class.new(String) { def inspect = raise("x") }.new("a"), Class.new(Array) { def each = raise("x") }.new([7]), BasicObject.new]
      print_json(values.map { |value| Profiler.const_get(:AnyObject).text(value).gsub(/0x\h+/, "0x") })
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
