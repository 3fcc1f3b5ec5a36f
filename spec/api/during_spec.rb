# frozen_string_literal: true

require "profiler/cli"

# The part of a profile that lies within markers, such as the slow calls of a method.
RSpec.describe "Profile#filter with during:" do
  include_context "with a program"
  include_context "with a box"

  it "has what threads did in the slow calls of a traced method, and the length of these", :timed do
    report = program_json("trace/slow_calls", in_box("calls.pb.gz"))
    expect(report).to include(markers: 2, all: 4, threads: 1, wall: report[:timeline], notes: include(/\Aonly a part, during "Order#save", over 100 ms: \d/))
    expect(report[:wall]).to be_within(report[:took] * 0.05).of(report[:took])
    expect(report[:top]).to be_within(30_000_000).of(270_000_000)

    command = profiler_child("report", in_box("calls.pb.gz"), "--during", "^Order#", "--over", "100ms", "--json", chdir: box)
    expect(JSON.parse(command.out)["top"].map { |it| it["name"] }).to include("Order#save", "Order#slow")
  end

  it "refuses names that match no marker, and lists the markers that exist" do
    errors = JSON.parse(run(<<~'RUBY'))
      with = Profiler.run(timeline: true) { 2.times { |number| Profiler.marker("import") { burn(3 + number) } } }
      without = Profiler.run { Profiler.marker("import") { burn(3) } }
      print_json([error { with.filter(during: "export") }, error { with.filter(during: /x/) }, error { with.filter(over: 1) }, error { with.filter(during: /imp/, over: 60) },
                  error { with.filter(during: 5) }, error { with.filter(during: "import", over: "1s") }, error { without.filter(during: "import") }])
    RUBY
    expect(errors).to match([
      'ArgumentError: no marker matches "export" (there are "import")', 'ArgumentError: no marker matches /x/ (there are "import")',
      "ArgumentError: over: is for markers, so it needs during:", /\AArgumentError: no marker that matches \/imp\/ took longer than 60\.0 s \(the longest took [\d.]+ ms\)\z/,
      "ArgumentError: 5 is not a pattern (allowed: Regexp, String)", 'ArgumentError: over: "1s" is not a duration (allowed: seconds from 0 to 1000000000)',
      "ArgumentError: during: the profile has no timeline (record with --timeline or timeline: true)"
    ])
    shop = File.expand_path("../fixtures/shop.pb.gz", __dir__)
    results = [%w[--during Order --over 5], %w[--during Order --over 5m], %w[--over 5ms]].map { |options| profiler_child("report", shop, *options, chdir: box) }
    expect(results.map(&:code)).to all(be > 0)
    expect(results.map(&:err)).to match([/--over "5" is not a duration \(allowed: such as 500us, 200ms or 1.5s\)/, /--over "5m" is not/, /over: is for markers, so it needs during:/])
  end
end
