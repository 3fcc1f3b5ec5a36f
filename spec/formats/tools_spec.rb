# frozen_string_literal: true

require "open3"
require_relative "../support/tools"

# Law 6 for the formats that are not our own: the tool that each is for reads it, and has the numbers that the profile has.
RSpec.describe "A file in another tool's format" do
  include Tools
  include_context "with a program"

  before(:context) do
    @directory = Dir.mktmpdir("tools")
    result = ruby_child(File.expand_path("../programs/formats/shop_files.rb", __dir__), @directory)
    raise result.err unless result.status.success?

    @truth = JSON.parse(File.read(file("truth.json")))
  end

  after(:context) { FileUtils.remove_entry(@directory) }

  attr_reader :truth

  def file(name) = File.join(@directory, name)
  def odd = "Object#odd;name </script> &|`  12"

  # Times as speedscope writes them: 236.76ms.
  def unit_ns(text) = { "ns" => 1.0, "µs" => 1e3, "ms" => 1e6, "s" => 1e9 }.fetch(text[/[^\d.]+\z/])
  def ns_of(text) = Float(text[/\A[\d.]+/]) * unit_ns(text)

  it "is described by speedscope's own schema" do
    schema = need(File.join(Tools::MODULES, "speedscope/dist/release/file-format-schema.json"))
    python = %w[python3 /usr/bin/python3].find { |name| system(name, "-c", "import jsonschema", err: File::NULL) } || need("python3-jsonschema")
    check = "import json,sys,jsonschema; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))"
    result = command_child(python, "-c", check, file("it.speedscope.json"), schema)
    expect(result.status).to be_success, result.err
  end

  it "is shown by speedscope: a profile for each thread and type, with the profile's sums" do
    profiles, rows = speedscope(file("it.speedscope.json"))
    walls = profiles.select { |name, _| name.end_with?(" - wall") }
    expect(walls.size).to eq truth["threads"].size
    walls.values.sort_by { |wall| ns_of(wall) }.zip(truth["threads"].sort).each { |text, ns| expect_near(text, ns, 0) }
    expect(profiles.keys.grep(/\Aw;<b> \(\d+\) - cpu\z/).size).to eq 2
    # Several blocks can have the same name.
    alone = truth["main"].reject { |name, _| name.start_with?("block") }
    expect(alone.size).to be > 5
    alone.each { |name, wall| expect_near(rows.fetch(name).first, wall, 0) }
    expect(rows).to include(odd, "Object#12")
  end

  it "is shown by speedscope also as .cpuprofile and as stackprof's JSON" do
    _, rows = speedscope(file("it.cpuprofile"))
    expect(rows.keys).to include("Shop#sort", odd)
    expect_near(rows.fetch("Shop#sort").first, truth["rows"]["wall"]["Shop#sort"][1], 20_000)
    # Speedscope shows stackprof's garbage collection under the stack before it, so only self weights are the same.
    _, rows = speedscope(file("it.stackprof.json"))
    expect_near(rows.fetch("Shop#sort").last, truth["rows"]["wall"]["Shop#sort"][0], truth["totals"]["wall"] / 500)
    _, rows = speedscope(file("cpu.stackprof.json"))
    expect_near(rows.fetch("Shop#sort").last, truth["rows"]["cpu"]["Shop#sort"][0], 500_000)
  end

  # The text of speedscope has two decimals of its unit, so it is as near to the nanoseconds as they allow. A tie goes either way.
  def expect_near(text, ns, within)
    expect(ns_of(text)).to be_within(within + (unit_ns(text) / 199)).of(ns)
  end

  describe "of the Firefox Profiler" do
    %w[it.firefox.json it.firefox.json.gz].each do |name|
      it "is loaded, with the profile's sums (#{name})" do
        firefox(file(name)) do |ask|
          info = ask["profile", "info"]
          expect(info).to include("3 threads", "Process CPU").and match(/w;<b> \(\d+\)/)
          sums = 3.times.map do |thread|
            samples = JSON.parse(ask["thread", "samples", "--json", "--include-idle", "--limit", "100", "--thread", "t-#{thread}"])
            next samples["categoryBreakdown"]["totalSamples"] * 1e6 unless thread.zero?

            rows = samples["topFunctionsByTotal"].group_by { |sample| sample["name"] }
            # Several functions can have the same name: blocks of a file.
            alone = truth["main"].select { |function, _| rows.fetch(function).size == 1 }
            expect(alone.size).to be > 10
            alone.each { |function, wall| expect(rows[function][0]["totalSamples"] * 1e6).to be_within(1_000).of(wall), function }
            expect(samples["categoryBreakdown"]["categories"].map { |sample| sample["name"] }).to include("Ruby", "cfunc", "Idle")
            samples["categoryBreakdown"]["totalSamples"] * 1e6
          end
          expect(sums.sum).to be_within(1_000).of(truth["totals"]["wall"])
          markers = ask["thread", "markers", "--thread", "t-0"]
          expect(markers).to include("imp<ort>;")
          expect(truth["gc"]).to be_positive
          expect(3.times.map { |thread| ask["thread", "markers", "--thread", "t-#{thread}"] }).to include(/^ +GC /)
        end
      end
    end
  end

  it "is read by callgrind_annotate, with the profile's sums" do
    need "callgrind_annotate"
    result = command_child("callgrind_annotate", "--auto=no", "--threshold=100", "--show=cpu,wall", "--sort=cpu", file("it.callgrind"))
    expect(result.err).to eq ""
    expect(result.out).to match(/^ *#{comma(truth["totals"]["cpu"])} .* #{comma(truth["totals"]["wall"])} .*PROGRAM TOTALS$/)
    heavy = truth["rows"]["cpu"].select { |_name, (own, _)| own >= truth["totals"]["cpu"] / 50 }
    expect(heavy.size).to be > 2
    heavy.each { |name, (own, _)| expect(result.out).to match(/^ *#{comma(own)} .*:#{Regexp.escape(name)}( \[\])?$/), name }
    tree = command_child("callgrind_annotate", "--auto=no", "--inclusive=yes", "--tree=both", file("it.callgrind"))
    expect([tree.err, tree.status.success?]).to eq ["", true]
    expect(tree.out).to include(odd)
  end

  def comma(number) = number.to_s.reverse.scan(/\d{1,3}/).join(",").reverse

  # The first line of the command names the system's Ruby, which may be another than this one and have its gems elsewhere.
  def stackprof(*arguments) = command_child("stackprof", *arguments, env: { "GEM_PATH" => nil })

  it "is read by stackprof's command, with the profile's sums" do
    need "stackprof"
    text = stackprof(file("cpu.stackprof.json"), "--text", "--limit", "1000")
    expect(text.status).to be_success, text.err
    expect(text.out[/Samples: (\d+)/, 1].to_i).to eq(truth["totals"]["cpu"] / 1_000)
    lines = text.out.scan(/^ +(\d+) +\(.*?\) +(\d+) +\(.*?\) +(.+?)\s*$/)
    rows = lines.to_h { |total, own, name| [name, [own.to_i, total.to_i]] }
    twice = lines.map(&:last).tally.select { |_name, times| times > 1 }.keys # two blocks of one name
    # Rounding carries over to the next sample: a row is off by its number of samples at most.
    heavy = truth["rows"]["cpu"].reject { |name, (_own, total)| total < 5_000_000 || twice.include?(name) }
    expect(heavy.size).to be > 5
    heavy.each do |name, (own, total)|
      expect(rows.fetch(name)[1]).to be_within(1_000).of(total / 1_000), name
      expect(rows.fetch(name)[0]).to be_within(1_000).of(own / 1_000), name
    end
    expect(stackprof(file("it.stackprof.json"), "--method", "Shop#sort").out).to match(/callers|callees/)
    collapsed = stackprof(file("cpu.stackprof.json"), "--stackcollapse").out
    expect(collapsed.lines.sum { |entry| entry[/\d+$/].to_i }).to eq(truth["totals"]["cpu"] / 1_000)
  end

  it "is drawn by inferno's own command, and is the same picture" do
    inferno = need(File.join(Tools::HOME, "bin/inferno-flamegraph"))
    drawn = command_child(inferno, "--flamechart", "--inverted", file("it.folded"))
    expect(drawn.status).to be_success, drawn.err
    expect(drawn.err).to eq ""
    title = /<title>Shop#sort \(([\d,]+) samples/
    ours = File.read(file("it.svg")).scan(/<title>Shop#sort \(([\d,]+) us/).flatten.sum { |match| match.delete(",").to_i }
    theirs = drawn.out.scan(title).flatten.sum { |match| match.delete(",").to_i }
    expect(theirs / 1_000).to be_within(50).of(ours)
    differential = command_child(File.join(Tools::HOME, "bin/inferno-diff-folded"), file("it.folded"), file("it.folded"))
    expect(differential.out.lines.size).to eq(File.readlines(file("it.folded")).size).and be > 10
    expect(differential.out.lines).to all match(/ (\d+) \1$/)
  end

  it "is a picture in all its styles" do
    need "xmllint"
    %w[it flame reverse flamechart].each do |name|
      result = command_child("xmllint", "--noout", "--nonet", file("#{name}.svg"))
      expect(result.status).to be_success, result.err
      expect(File.read(file("#{name}.svg"))).to include("Shop#sort")
    end
  end

  it "is JSON and Markdown with the profile's sums" do
    summary = JSON.parse(File.read(file("it.json")))
    expect(summary["sample_types"].to_h { |entry| [entry["name"], entry["total"]] }).to eq truth["totals"]
    sort = summary["functions"].find { |entry| entry["name"] == "Shop#sort" }
    expect([sort["self"]["cpu"], sort["total"]["cpu"]]).to eq truth["rows"]["cpu"]["Shop#sort"]
    markdown = File.read(file("it.md"))
    expect(markdown).to match(/^\| .*% \| `Shop#sort` \| `.*shop_files\.rb:8` \|$/)
    cells = markdown.lines.grep(/odd;name/).map { |entry| entry.gsub("\\|", "").count("|") }
    expect(cells.uniq).to eq [7]
  end

  it "can be read back" do
    totals, top = run_json(<<~RUBY, chdir: @directory)
      names = %w[it.pb.gz it.speedscope.json it.folded cpu.stackprof.json]
      loaded = names.map { |name| Profiler::Profile.load(name) }
      print_json([names.zip(loaded.map(&:totals)).to_h, loaded.values_at(0, 3).map { |it| it.top(type: :cpu, limit: 3).map { |row| row[:name] } }])
    RUBY
    speedscope, folded, stackprof = totals.values_at(:"it.speedscope.json", :"it.folded", :"cpu.stackprof.json")
    whole = truth["totals"].transform_keys(&:to_sym)
    expect(speedscope).to eq(whole.reject { |_, sum| sum.zero? })
    expect(folded[:samples]).to eq(whole[:wall])
    expect(stackprof[:cpu]).to eq(whole[:cpu] / 1_000 * 1_000)
    expect(top[1]).to eq(top[0])
  end

  it "can be read back after go tool pprof has rewritten it" do
    need "go"
    out = file("merged.pb.gz")
    merged = command_child("go", "tool", "pprof", "-proto", "-output=#{out}", file("it.pb.gz"), file("it.pb.gz"),
                           env: { "PPROF_TMPDIR" => @directory }, timeout: 400)
    expect(merged.status).to be_success, merged.err
    totals = run_json("print_json(Profiler::Profile.load(#{out.inspect}).totals)")
    expect(totals.transform_keys(&:to_s)).to eq(truth["totals"].transform_values { |entry| 2 * entry })
  end
end
