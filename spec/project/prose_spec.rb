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
    out.string.lines(chomp: true).grep(/\A#{Regexp.escape(path)}:/).map { |line| line.delete_prefix("#{path}:") }
  end

  it "finds sentences of more than 40 words" do
    expect(problems("a.md", "#{"word " * 40}end.\n")).to match([/\A1: a sentence of 41 words/])
    expect(problems("a.md", "#{"word " * 20}end. #{"Word " * 20}end.\n\n- #{"item " * 20}\n- #{"item " * 20}\n")).to eq([])
    expect(problems("a.rb", "# The count,\n# #{"word " * 40}\ndef a = 1\n")).to match([/\A1: a sentence of 42 words/])
  end

  it "reads comments and documents, but not code" do
    long = "word " * 45
    expect(problems("a.rs", "//! The map.\n\n/// #{long}\nfn a() {} // #{long}\n").size).to eq 2
    expect(problems("a.rb", "# #{long}\ndef a\n  1\nend\n").size).to eq 1
    expect(problems("a.tsx", "/**\n * #{long}\n */\nconst a = 1; // #{long}\n/** #{long} */\n").size).to eq 3
    expect(problems("a.md", "```\n#{long}\n```\n")).to eq([])
  end

  it "counts what each directory has" do
    File.write(in_box("a.md"), "#{"word " * 45}.\n\n#{"word " * 45}.\n")
    out = StringIO.new
    expect(described_class.new([box]).run(out)).to be(false)
    expect(out.string).to include(format("%5d  %s\n", 2, box), "prose: 1 files, 2 problems\n")
  end
end
