# frozen_string_literal: true

require_relative "../../rakelib/prose"

RSpec.describe Prose do
  include_context "with a box"

  # @return [Array<String>] the problems of a file, as "line: text"
  def problems(name, text)
    path = in_box(name)
    File.write(path, text)
    out = StringIO.new
    described_class.new([path]).run(out)
    out.string.lines(chomp: true).grep(/\A#{Regexp.escape(path)}:/).map { |it| it.delete_prefix("#{path}:") }
  end

  it "finds doc comments that begin with a relative, in Rust, Ruby and RBS" do
    expect(problems("a.rs", "//! The map.\n\n/// What it is.\nfn a() {}\n// What is no doc comment.\n")).to match([/\A3: .*begins with What/])
    expect(problems("a.rb", "# Whose time it is.\ndef a = 1\n\n# What follows is a step.\nputs 1\n")).to match([/\A1: .*begins with Whose/])
    expect(problems("a.rbs", "# One of many.\nclass A\nend\n")).to match([/\A1: .*begins with One/])
    expect(problems("a.rb", "# The count.\n#\n# What is in it.\n#\n# @return [Integer] what is in it\ndef a = 1\n")).to eq([])
  end

  it "finds sentences of more than 35 words" do
    expect(problems("a.md", "#{"word " * 35}end.\n")).to match([/\A1: a sentence of 36 words/])
    expect(problems("a.md", "#{"word " * 20}end. #{"Word " * 20}end.\n\n- #{"item " * 20}\n- #{"item " * 20}\n")).to eq([])
    expect(problems("a.rb", "# The count,\n# #{"word " * 40}\ndef a = 1\n")).to match([/\A1: a sentence of 42 words/])
  end

  it "finds banned words in comments, messages and documents, but not in code" do
    expect(problems("a.rb", "# Looks at it.\ndef a\n  raise \"nobody was told about it\"\nend\n")).to match([/\A1: "Looks at"/, /\A3: "told"/])
    expect(problems("a.rs", "fn a() { panic!(\"one is looked at\") }\n")).to match([/\A1: "looked at"/])
    expect(problems("a.md", "| a | the moment |\n\n```\nmoment = 1\n```\n\n`moment`\n")).to match([/\A1: "moment"/])
  end

  it "finds sentences that nobody understands at first who does not know the project" do
    [
      "620 ticks coalesced with the one before", "2 waits interrupted by a tick: a system call can end with EINTR by that",
      "asked 1 ms, got one per 900 us of CPU", "engine ticker, not thread_timer: other sessions had it, or the system refused",
      "what a system call took is where the thread was found next", "what is above is paid back within ten seconds of CPU time",
      "sampled in whole periods, by chance one in as many as half of the share allows", "the class (internal) imemo", "faster ones are discarded before names are resolved"
    ].each do |sentence|
      expect(problems("a.md", "#{sentence.capitalize}.\n").grep(/use: /)).to match([/\A1: /]), sentence
      expect(problems("a.rs", "fn a() { say(\"#{sentence}\") }\n").grep(/use: /)).to match([/\A1: /]), sentence
    end
  end

  it "checks the sentences of specs and not the programs in them" do
    expect(problems("a_spec.rb", %(it "is told" do\n  run("puts 'a moment is told here'")\nend\n))).to match([/\A1: "told"/])
  end

  it "counts what each directory has" do
    File.write(in_box("a.md"), "A moment.\n\nA moment.\n")
    out = StringIO.new
    expect(described_class.new([box]).run(out)).to be(false)
    expect(out.string).to include(format("%5d  %s\n", 2, box), "prose: 1 files, 2 problems\n")
  end
end
