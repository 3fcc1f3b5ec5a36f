# frozen_string_literal: true

require "stringio"
require_relative "../../rakelib/docs/check"

# `rake check:docs`, on small documents of its own.
RSpec.describe Docs::Check do
  include_context "with a box"

  let(:told) { StringIO.new }

  # @return [Array<String>] "line: what differs, then what came out"
  def differences(text, scenes: {})
    File.write(in_box("a.md"), text)
    @check = described_class.new(["a.md"], root: box, scenes: scenes, out: told)
    @check.run.map { |run| "#{run.line}: #{[run.text, *run.got.to_s.lines(chomp: true)].join(" / ")}" }
  end

  it "passes output that is as shown, and reports how many examples ran" do
    expect(differences(<<~MD)).to eq([])
      # A

      ```
      $ echo "12 calls in 3.5 ms"; echo left out; echo /srv/a/b.rb:7   # a comment
      7 calls in 1,200 us
      ...
      /b.rb:7
      $ profiler --version
      profiler 9.9.9
      ```

      ```ruby
      { name: "/srv/a.rb", share: work.size / 2.0 }   # => { name: "/app/a.rb", share: 0.25 }
      [1, "two"]
      # => [7,
      #     "two"]
      ```
    MD
    expect(told.string).to eq("2 blocks of 1 documents: 3 commands and programs ran\n")
  end

  it "allows dropped samples, another base of the overhead, and another time of day" do
    expect(differences(<<~MD)).to eq([])
      # A
      ```
      $ echo "wrote a.pb.gz (753 samples, overhead 2.0% of one core)"; echo "12:03:04.123  Foo#bar"
      wrote a.pb.gz (1,214 samples, 1 dropped, overhead 0.5% of the CPU time)
      04:05:06.789  Foo#bar
      ```
    MD
  end

  it "finds a line that does not come out, and a command that fails" do
    expect(differences(<<~MD)).to eq(["4: shown 80 % in Foo#bar / 81 % in Foo#baz", "6: shown b.rb:8 / b.rb:7", "7: the command has status 3 / no"])
      # A
      ```
      $ echo 81 % in Foo#baz
      80 % in Foo#bar
      $ echo b.rb:7
      b.rb:8
      $ sh -c "echo no; exit 3"
      ```
    MD
  end

  it "finds an option that profiler has not, whether the command runs or not" do
    expect(differences(<<~MD)).to match([/\A3: profiler report has no option --limits\z/, /\A4: profiler top has no option --twice\z/, /\A3: the command has status 2 /])
      # A
      ```
      $ profiler report sample.pb.gz --limits 3
      $ profiler top --twice 4711
      ```
    MD
    expect(@check.parsed.map { |command| [command.line, command.text] }).to eq([[4, "profiler top --twice 4711"]])
    expect(told.string).to include("1 not run or compared: a screen of a terminal").and include("a.md:4: profiler top")
  end

  it "finds a missing method, a different value and code that is not Ruby, by the lines of the document" do
    errors = ["a = 1\nProfiler.rum { work }", "[1].class   # => Hash", "work do"].map do |code|
      differences("# A\n\n```ruby\n#{code}\n```\n").last[/\A\d+: the block fails.{,250}/m]
    end
    expect(errors).to match([/\A5:.*undefined method [`']rum'/, /\A4:.*shown Hash .*it is Array/m, /\A[45]:.*syntax error/])
  end

  it "finds a method or a constant of the profiler that is gone, wherever it is named" do
    expect(differences("# A\n\n`Profiler.run`, `Profiler.rum { }`\n`Profiler::Profile#meta`, `Profiler::Profile#mete`, `Profiler::Nothing`\n"))
      .to eq(["3: there is no Profiler.rum", "4: there is no Profiler::Profile#mete", "4: there is no Profiler::Nothing"])
  end

  it "parses what a scene does not run, and finds a scene without a block" do
    scenes = { "a.md: A" => { parsed: "no reason" }, "a.md: B" => {}, "b.md: C" => {} }
    expect(differences("# A\n\n```ruby\nraise 'run'\n```\n", scenes: scenes)).to eq(["1: no block a.md: B, which rakelib/docs/scenes.rb has"])
    expect(@check.parsed.map(&:reason)).to eq(["no reason"])
    expect(differences("# A\n\n```ruby\nraise(\n```\n", scenes: scenes.slice("a.md: A"))).to match([/syntax error/])
  end

  it "finds a block of an unknown language, YAML that is none, and steps of CI that fail" do
    expect(differences("# A\n\n```lua\n```\n\n```yaml\na: [\n```\n\n```yaml\n- run: |\n    true\n    false\n```\n"))
      .to match([/\A3: rakelib.* has no language lua/, /\A[78]: no YAML/, /\A13: the command has status 1/])
  end

  it "compares only the output of a Ruby that has it, and prepares with commands that have to pass" do
    text = "# A\n```\n$ cat file\nnothing\n```\n"
    expect(differences(text, scenes: { "a.md: A" => { before: "echo something > file", output: "< 3" } })).to eq([])
    expect(@check.parsed.map(&:reason)).to eq(["the output of Ruby < 3"])
    expect(differences(text, scenes: { "a.md: A" => { before: "false" } })).to match([/\A3: the command does not end/])
  end

  it "every scene is of a block, and every block of the documents has a language that it knows" do
    blocks = Dir.glob("{README,docs/*}.md", base: Child::ROOT).flat_map { |path| Docs::Block.of(Child::ROOT, path) }
    expect(Docs::SCENES.keys - blocks.map(&:key)).to eq([])
    expect(blocks.map(&:language).uniq - Docs::LANGUAGES.keys).to match_array(["", "ruby"])
  end
end
