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

  it "finds sentences of more than 40 words" do
    expect(problems("a.md", "#{"word " * 40}end.\n")).to match([/\A1: a sentence of 41 words/])
    expect(problems("a.md", "#{"word " * 20}end. #{"Word " * 20}end.\n\n- #{"item " * 20}\n- #{"item " * 20}\n")).to eq([])
    expect(problems("a.rb", "# The count,\n# #{"word " * 40}\ndef a = 1\n")).to match([/\A1: a sentence of 42 words/])
  end

  it "reads comments, strings and documents, but not code" do
    long = "word " * 45
    expect(problems("a.rb", "# #{long}\ndef a\n  1\nend\n").size).to eq 1
    expect(problems("a.md", "```\n#{long}\n```\n")).to eq([])
  end

  it "counts what each directory has" do
    File.write(in_box("a.md"), "#{"word " * 45}.\n\n#{"word " * 45}.\n")
    out = StringIO.new
    expect(described_class.new([box]).run(out)).to be(false)
    expect(out.string).to include(format("%5d  %s\n", 2, box), "prose: 1 files, 2 problems\n")
  end
end
