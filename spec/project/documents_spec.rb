# frozen_string_literal: true

require_relative "../support/document"

RSpec.describe Document do
  include_context "with a box"

  paths = Dir.glob("{README,CHANGELOG,CONTRIBUTING,ARCHITECTURE,docs/*,docs/cases/*,bench/README,spec/programs/stress/README}.md", base: Child::ROOT).sort

  def document(text, name: "a.md")
    File.write(in_box(name), text)
    described_class.new(in_box(name))
  end

  # @return [Hash{String => Array<String>}] of the documents with problems
  def problems(paths)
    paths.to_h { |path| [path, yield(described_class.new(File.join(Child::ROOT, path)))] }.reject { |_, found| found.empty? }
  end

  it "README has at most 130 lines" do
    expect(described_class.new(File.join(Child::ROOT, "README.md")).size).to be_between(60, 130)
  end

  it "no line of prose is longer than 120 characters" do
    expect(problems(paths, &:long_lines)).to eq({})
  end

  it "finds lines of prose that are too long" do
    long = (["word"] * 25).join(" ")
    expect(document("#{long}\n\n```\n#{long}\n```\n| #{long} |\n* #{long}\n").long_lines).to eq(["1: 124 characters", "7: 126 characters"])
  end

  it "README links to every page of docs/" do
    linked = described_class.new(File.join(Child::ROOT, "README.md")).links.map(&:target)
    expect(paths.grep(%r{\Adocs/}) - linked).to eq([])
  end

  it "documents link only to files and headings that exist" do
    expect(problems(paths, &:dead_links)).to eq({})
    expect(paths.sum { |path| described_class.new(File.join(Child::ROOT, path)).links.size }).to be > 60
  end

  it "documents show only commands and options of profiler that exist" do
    expect(problems(paths, &:unknown_commands)).to eq({})
    expect(paths.sum { |path| described_class.new(File.join(Child::ROOT, path)).commands.size }).to be > 40
  end

  it "finds links to files that are missing" do
    document("# B\n", name: "b.md")
    expect(document("[a](b.md) and ![c](c.png),\n[d\ne](d/e.md#f), <img src=\"f.png\">\n").dead_links)
      .to eq(["1: no file c.png", "3: no file d/e.md", "3: no file f.png"])
    expect(document("`[a](b)` [c](https://example.org/d)\n\n```\n[e](f)\n```\n").dead_links).to eq([])
  end

  it "finds links to headings that are missing, by GitHub's names for headings" do
    document("# The `:wall` mode, in C++: what's *new*?\n\n## A_b - c\n\n## A_b - c\n\n```\n# no heading\n```\n", name: "b.md")
    good = %w[the-wall-mode-in-c-whats-new a_b---c a_b---c-1].map { |name| "[a](b.md##{name})" }
    expect(document("# Own\n\n[a](#own) #{good.join(" ")}\n").dead_links).to eq([])
    expect(document("# Own\n\n[a](#owned) [b](b.md#no-heading) [c](b.md#a_b---c-2)\n").dead_links)
      .to eq(["3: no heading #owned in a.md", "3: no heading #no-heading in b.md", "3: no heading #a_b---c-2 in b.md"])
  end

  it "finds commands and options that profiler has not" do
    block = <<~MD
      ```
      $ A=1 profiler recrod -- ruby
      $ cd x && profiler record --outs a.svg -- ruby --any-option | head; profiler doctor --json   # profiler nothing
      profiler nothing is output
      ```
      `profiler tree a --md`, `profiler report FILE --by=endpoint`, `profiler: a message`
    MD
    expect(document(block).unknown_commands)
      .to eq(["2: profiler has no command recrod", "3: profiler record has no option --outs", "6: profiler tree has no option --md"])
    expect(document("```yaml\n- run: |\n    for i in 1 2; do profiler checks a; done\n```\n").unknown_commands)
      .to eq(["3: profiler has no command checks"])
    expect(document("```sh\nprofiler view a.pb.gz -z\n```\n\n```ruby\nprofiler nothing\n```\n").unknown_commands)
      .to eq(["2: profiler view has no option -z"])
  end
end
