# frozen_string_literal: true

require "zlib"

RSpec.describe "Profile.load" do
  include_context "with a box"
  include_context "with a program"

  def varint(number)
    bytes = []
    while number > 0x7f
      bytes << (number & 0x7f | 0x80)
      number >>= 7
    end
    [*bytes, number].pack("C*")
  end

  def field(number, content)
    varint(number << 3 | 2) + varint(content.bytesize) + content.b
  end

  # A pprof of another program: a function that is inlined into itself +lines+ times, with +samples+, and +labels+ on each sample.
  def pprof(lines:, samples:, labels: 0, name: "m")
    strings = ["", "cpu", "ns", name].map { |item| field(6, item) }.join
    sample = field(2, field(1, "\x01") + field(2, "\x01") + (field(3, "\x08\x03\x10\x03") * labels))
    field(1, "\x08\x01\x10\x02") + strings + field(5, "\x08\x01\x10\x03") +
      field(4, "\x08\x01".b + (field(4, "\x08\x01") * lines)) + (sample * samples)
  end

  def refusal(content)
    File.binwrite(in_box("bomb.pb.gz"), Zlib.gzip(content, level: 9))
    run_json("print_json(error { Profiler::Profile.load('bomb.pb.gz') })", chdir: box).sub(/ \d+ bytes$/, "")
  end

  # Runs a program whose main thread is raised at while it computes +question+.
  #
  # @return [String] the exception, and how many threads are left
  def interrupted(question, prepare, turns: 3)
    program_json("formats/interrupted", env: { "BOX" => box, "PREPARE" => prepare, "QUESTION" => question, "TURNS" => turns.to_s })
  end

  it "reads what vernier and rperf recorded, with their sums" do
    vernier, rperf = run_json(<<~RUBY, chdir: File.join(Child::ROOT, "spec/fixtures"))
      print_json(%w[shop.vernier.json shop.rperf.json].map { |name| Profiler::Profile.load(name).totals })
    RUBY
    expect(vernier).to eq({ samples: 22, wall: 11_500_000, gvl_wait: 500_000, alloc_objects: 2 })
    expect(rperf).to eq({ wall: 18_040_123, gvl_wait: 40_000, gc: 1_000_000 })
  end

  it "refuses a small file that expands too much" do
    frames = "Profiler::FormatError: bomb.pb.gz: a damaged profile: its stacks have too many frames for"
    texts = "Profiler::FormatError: bomb.pb.gz: a damaged profile: its names and labels are too long together for"
    bomb = pprof(lines: 90_000, samples: 90_000)
    expect(Zlib.gzip(bomb, level: 9).bytesize).to be < 3_000
    expect(refusal(bomb)).to eq(frames)
    expect(refusal(pprof(lines: 1, samples: 20_000, labels: 10, name: "m" * 1_000_000))).to eq(texts)
  end

  it "refuses to write a text that repeats names to gigabytes" do
    File.binwrite(in_box("long.pb"), pprof(lines: 90_000, samples: 1, name: "m" * 1_000_000))
    expect(run_json(<<~RUBY, chdir: box)).to match([/\AProfiler::FormatError: /] * 2)
      long = Profiler::Profile.load("long.pb")
      print_json(%w[folded svg].map { |it| error { long.save("a.\#{it}") } })
    RUBY
    expect(files).to eq(["long.pb"])
  end

  it "lets other threads run, and ends on their exceptions" do
    # Not refused: many lines of few stacks.
    File.write(in_box("long.folded"), (1..200).map { |number| "main;#{"a;" * number}b #{number}\n" }.join * 2_000)
    expect(interrupted("Profiler.const_get(:Native).parse(bytes)", "bytes = File.binread('long.folded')", turns: 5)).to eq(["RuntimeError: enough", 1])
  end

  it "answers questions about a large profile in the same way" do
    File.write(in_box("large.folded"), (1..60_000).map { |number| "main;#{"a;" * (number % 150)}f#{number} 1\n" }.join)
    ["samples", "merge(*[large] * 40)", "dump(:folded)"].each do |question|
      expect([question, *interrupted("large.#{question}", "large = Profiler::Profile.load('large.folded')")]).to eq([question, "RuntimeError: enough", 1])
    end
  end
end
