# frozen_string_literal: true

require "json"

RSpec.describe "Profiler::Profile" do
  include_context "with a program"

  # A file with labels in it, the same as the example of the formats' tests.
  let(:shop) { "spec/fixtures/shop.pb.gz" }

  # The result of the code as JSON, with the shop's profile in +shop+.
  def evaluate(code)
    JSON.parse(run("shop = Profiler::Profile.load(#{shop.inspect})\nprint_json((#{code}))"))
  end

  # Class and message of what the code raises.
  def raised(code)
    evaluate("begin; #{code}; nil; rescue StandardError => e; [e.class.name, e.message]; end")
  end

  it "is read only from a path, and written only to one" do
    wrong = /is not a path \(allowed: a String, or an object with to_path\)|out: 5 is not the name of a directory/
    ["Profiler::Profile.load(file.fileno)", "shop.save(5, format: :pprof)", "Profiler.run(out: 5, format: :pprof) { 1 }",
     "Profiler.continuous(out: 5)", "Profiler.flight_recorder(out: 5)"].each do |code|
      expect(raised("file = File.open('/dev/null'); #{code}; file.stat")).to match(["ArgumentError", wrong]), code
    end
    expect(evaluate("Profiler::Profile.load(File.open(#{shop.inspect})).totals == shop.totals")).to be(true)
  end

  describe "merge" do
    it "adds up the profiles" do
      one, twice, thrice = evaluate(<<~RUBY)
        [shop, shop.merge(shop), Profiler::Profile.merge(shop, shop, shop)].map do |it|
          { stats: it.stats, top: it.top(limit: 0), samples: it.samples.map(&:to_h), meta: it.meta }
        end
      RUBY
      { twice => 2, thrice => 3 }.each do |merged, times|
        %w[cpu_ns samples captured dropped handler_ns].each do |figure|
          expect([figure, merged["stats"][figure]]).to eq [figure, one["stats"][figure] * times]
        end
        expect(merged["top"].map { |row| [row["name"], row["self"] / times, row["total"] / times] })
          .to eq(one["top"].map { |row| row.values_at("name", "self", "total") })
        expect(merged["samples"].map { |row| [row["frames"], row["labels"], row["cpu"] / times] })
          .to eq(one["samples"].map { |row| row.values_at("frames", "labels", "cpu") })
        expect(merged["meta"]["notes"]).to start_with "merged from #{times} profiles"
        expect(merged["meta"].except("notes")).to eq one["meta"].except("notes")
      end
    end

    it "returns an ordinary profile, even if garbage is collected in between" do
      code = "GC.stress = true; it = Profiler::Profile.merge(shop, shop.merge(shop)); GC.stress = false"
      expect(evaluate("#{code}; [it.report.include?('merged from 3 profiles'), it.dump(:folded) == shop.merge(shop, shop).dump(:folded)]"))
        .to eq [true, true]
    end

    it "returns an equal profile for a single one" do
      expect(evaluate("Profiler::Profile.merge(shop).to_pprof == shop.to_pprof")).to be true
    end

    it "refuses an empty list, and objects that are not profiles" do
      expect(raised("Profiler::Profile.merge")).to eq ["ArgumentError", "no profile to merge"]
      expect(raised("shop.merge")).to eq ["ArgumentError", "no profile to merge with"]
      ["[shop]", "nil", "'a.pb.gz'"].each do |what|
        expect(raised("shop.merge(shop, #{what})"))
          .to match ["ArgumentError", /\A(\[#<Profiler::Profile:0x\h+>\]|nil|"a.pb.gz") is not a Profiler::Profile\z/]
      end
    end
  end

  describe "by" do
    it "sums up each value of a label, and the samples without it" do
      none, index = evaluate("shop.by(:endpoint)")
      expect(none).to include("value" => "(none)", "weight" => 807_000_000,
                              "heaviest" => { "name" => "Shop::Order#<=>", "path" => "/app/lib/shop.rb",
                                              "first_line" => 20, "self" => 401_234_000 })
      expect(index).to include("value" => "orders#index", "weight" => 40_000_000)
      expect(evaluate("shop.by('endpoint', limit: 1)")).to eq [none]
    end

    it "knows threads and states without labels" do
      expect(evaluate("shop.by(:thread).map { |it| it[:value] }")).to eq ["main (4711)", "worker; 1 (4712)"]
      expect(evaluate("shop.by('state').to_h { |it| it.values_at(:value, :weight) }")).to eq("running" => 838_984_000, "gc" => 8_016_000)
    end

    it "works on a profile that was just recorded" do
      code = <<~RUBY
        work = -> { 200_000.times { |number| number.to_s } }
        profile = Profiler.run(interval: 100) { Thread.new { Thread.current.name = "helper"; work.call }.join; work.call }
        [profile.by(:thread, limit: 0), profile.stats]
      RUBY
      groups, stats = evaluate(code.tr("\n", ";"))
      expect(groups.sum { |group| group["weight"] }).to eq stats["cpu_ns"]
      expect(groups.map { |group| group["value"] }).to include(/\Ahelper \(\d+\)\z/)
    end

    it "is a table in the report" do
      report = evaluate("shop.report(by: :endpoint)")
      expect(report).to include("ENDPOINT").and match(/^ *807 ms +95\.3% +\(none\) +401 ms +49\.7% +Shop::Order#<=> /)
      expect(report).not_to include "FUNCTION"
    end

    it "reports an unknown label with the known ones" do
      expected = ["ArgumentError", "no sample has a label \"job\" (there are thread, state, package, gem, file, class, endpoint)"]
      expect(raised("shop.by(:job)")).to eq expected
      expect(raised("shop.report(by: :job)")).to eq expected
      expect(raised("shop.report(by: :thread, sort: :total)")).to match ["ArgumentError", /\Aby: and sort: :total /]
      expect(raised("shop.by(:thread, limit: -1)")).to match ["ArgumentError", /\Alimit: -1 /]
    end
  end
end
