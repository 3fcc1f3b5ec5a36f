# frozen_string_literal: true

require_relative "../../rakelib/command_pages"
require_relative "../../lib/profiler/cli/command"
require_relative "../support/document"

RSpec.describe CommandPages do
  include_context "with a box"

  # A command with an option of this text.
  def command(text)
    Class.new(Profiler::CLI::Command) do
      const_set(:SUMMARY, "Mends it.")
      const_set(:USAGE, "mend [options]")
      const_set(:EXAMPLES, "profiler mend\n")
      define_method(:define) { |parser| parser.on("--how WAY", text) }
    end
  end

  # @return [Array<String>] the options of a help text, in its order, with their texts in one line
  def options(name)
    text = help(name)[/^Options:\n(.*?)\n\nExamples:/m, 1]
    text.split(/\n(?= {4}(?:-\w| {3}) ?,? ?--)/).to_h { |entry| [entry[/--[a-z-]+/], entry.split(/\s+/).drop(1).join(" ")] }
  end

  def help(name)
    Profiler::CLI.const_get(Profiler::CLI::COMMANDS.fetch(name)).new.help(80)
  end

  names = Profiler::CLI::COMMANDS.keys

  it "are the help texts of the commands" do
    problems = described_class.new(Child::ROOT).problems
    expect(problems).to be_empty, problems.join("\n")
  end

  it "are all commands of profiler --help" do
    listed = profiler_child("--help").out[/Usage:.*?\n\n(.*?)\n\n/m, 1].scan(/^  (\w+) /).flatten - %w[help run]
    expect(listed).to eq(names)
    pages = names.map { |name| File.join(Child::ROOT, "docs/cli/#{name}.md") }
    expect(Dir[File.join(Child::ROOT, "docs/cli/*")]).to match_array(pages)
    expect(pages.flat_map { |page| Document.new(page).dead_links }).to eq([])
  end

  it "fit a terminal of 80 columns" do
    texts = [profiler_child("--help").out, *names.map { |name| help(name) }]
    expect(texts.flat_map { |text| text.lines(chomp: true).select { |line| line.size > 80 } }).to eq([])
  end

  it "have an example, of commands and options that exist" do
    names.each do |name|
      shown = help(name)[/^Examples:\n(.*?)(?:\n\n|\z)/m, 1]
      expect(shown.lines.grep(/profiler #{name}\b/)).not_to be_empty, name
      File.write(in_box("example.md"), "```\n#{shown}\n```\n")
      expect(Document.new(in_box("example.md")).unknown_commands).to eq([]), name
    end
  end

  it "have the same options in the same order" do
    names.combination(2) do |one, other|
      shared = options(one).keys & options(other).keys
      expect(options(other).keys & shared).to eq(shared), "#{one} and #{other}: #{shared.join(" ")}"
    end
  end

  it "say which command has changed, and what to run" do
    FileUtils.mkdir_p(in_box("docs"))
    File.write(in_box("docs/cli.md"), "# Command line\n\n<!-- rake docs:cli -->\n<!-- end -->\n")
    described_class.new(box, { "mend" => command("a way") }).write
    expect(described_class.new(box, { "mend" => command("a way") }).problems).to eq([])
    expect(described_class.new(box, { "mend" => command("another way") }).problems)
      .to eq(["docs/cli/mend.md is not the help of profiler mend: run rake docs:cli"])
    expect(described_class.new(box, { "patch" => command("a way") }).problems)
      .to eq(["docs/cli/patch.md is not the help of profiler patch: run rake docs:cli", "docs/cli/mend.md is of no command: run rake docs:cli",
              "docs/cli.md does not list the commands: run rake docs:cli"])
  end
end
