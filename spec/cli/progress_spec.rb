# frozen_string_literal: true

require "stringio"
require "profiler/cli/progress"

RSpec.describe "The progress line" do
  let(:terminal) { StringIO.new.tap { |built| built.define_singleton_method(:tty?) { true } } }

  before { stub_const("Profiler::CLI::Progress::AFTER", -1.0) }

  def show(io, names, env: {}, &work)
    done = Profiler::CLI::Progress.new(io, env).each("reading", names, &work || ->(name) { name.upcase })
    [done, io.string]
  end

  it "says which file of how many, and is erased at the end" do
    done, text = show(terminal, %w[a/b.pb.gz c.pb.gz])
    expect(done).to eq %w[A/B.PB.GZ C.PB.GZ]
    expect(text).to eq "\r\e[Kreading 1 of 2: b.pb.gz\r\e[Kreading 2 of 2: c.pb.gz\r\e[K"
  end

  it "is erased when the work fails" do
    expect { show(terminal, %w[a b]) { raise "no" } }.to raise_error("no")
    expect(terminal.string).to end_with "\r\e[K"
  end

  it "escapes and cuts file names" do
    text = show(terminal, ["\e]0;title\a\n#{"long" * 50}", "b"]).last
    shown = text.split("\r\e[K")[1]
    expect(shown).to start_with('reading 1 of 2: \e]0;title').and match(/\A[[:print:]]+\z/)
    expect(shown.size).to be < 100
  end

  it "is not printed for one file, off a terminal, on a dumb terminal, or for fast work" do
    expect(show(terminal, ["a"]).last).to eq ""
    expect(show(StringIO.new, %w[a b]).last).to eq ""
    expect(show(terminal, %w[a b], env: { "TERM" => "dumb" }).last).to eq ""
    stub_const("Profiler::CLI::Progress::AFTER", 100.0)
    expect(show(terminal, %w[a b]).last).to eq ""
  end

  it "is not part of the output" do
    shop = File.expand_path("../fixtures/shop.pb.gz", __dir__)
    result = profiler_child("diff", "#{shop},#{shop}", shop)
    expect([result.code, result.err]).to eq [0, ""]
    expect(result.out).not_to include "\e"
  end
end
