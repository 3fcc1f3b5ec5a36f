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

  # A pprof of another program: a function that is inlined into itself so many times, so many samples of it, and labels on them.
  def pprof(lines:, samples:, labels: 0, name: "m")
    strings = ["", "cpu", "ns", name].map { |it| field(6, it) }.join
    sample = field(2, field(1, "\x01") + field(2, "\x01") + (field(3, "\x08\x03\x10\x03") * labels))
    field(1, "\x08\x01\x10\x02") + strings + field(5, "\x08\x01\x10\x03") +
      field(4, "\x08\x01".b + (field(4, "\x08\x01") * lines)) + (sample * samples)
  end

  def refusal(content)
    File.binwrite(in_box("bomb.pb.gz"), Zlib.gzip(content, level: 9))
    run("puts error { Profiler::Profile.load('bomb.pb.gz') }", chdir: box).sub(/ \d+ bytes$/, "")
  end

  it "refuses a small file that expands too much" do
    frames = "Profiler::FormatError: bomb.pb.gz: a damaged profile: its stacks have too many frames for\n"
    texts = "Profiler::FormatError: bomb.pb.gz: a damaged profile: its names and labels are too long together for\n"
    bomb = pprof(lines: 90_000, samples: 90_000)
    expect(Zlib.gzip(bomb, level: 9).bytesize).to be < 3_000
    expect(refusal(bomb)).to eq(frames)
    expect(refusal(pprof(lines: 1, samples: 20_000, labels: 10, name: "m" * 1_000_000))).to eq(texts)
  end

  it "refuses to write a text that repeats names to gigabytes" do
    File.binwrite(in_box("long.pb"), pprof(lines: 90_000, samples: 1, name: "m" * 1_000_000))
    expect(run(<<~RUBY, chdir: box)).to eq("folded: Profiler::FormatError\nsvg: Profiler::FormatError\n[\"long.pb\"]\n")
      long = Profiler::Profile.load("long.pb")
      %w[folded svg].each { |it| puts "\#{it}: \#{error { long.save("a.\#{it}") }[/\\A[\\w:]+/].delete_suffix(":")}" }
      p Dir.children(".")
    RUBY
  end

  it "lets other threads run, and ends on their exceptions" do
    # Not refused: many lines of few stacks.
    File.write(in_box("long.folded"), (1..200).map { |it| "main;#{"a;" * it}b #{it}\n" }.join * 2_000)
    expect(run(<<~RUBY, chdir: box)).to eq("RuntimeError: enough\n1\n")
      reading = false
      seen = 0
      main = Thread.current
      bytes = File.binread("long.folded")
      watcher = Thread.new do
        sleep 0.001 until reading
        sleep 0.001 while reading && (seen += 1) < 5
        main.raise("enough") if reading
      end
      puts error {
        reading = true
        begin
          Profiler::Native.parse(bytes)
        ensure
          reading = false
        end
      }
      watcher.join
      p Thread.list.size
    RUBY
  end

  it "answers questions about a large profile in the same way" do
    File.write(in_box("large.folded"), (1..60_000).map { |it| "main;#{"a;" * (it % 150)}f#{it} 1\n" }.join)
    ["samples", "merge(*[large] * 40)", "dump(:folded)"].each do |question|
      expect([question, run(<<~RUBY, chdir: box)]).to eq([question, "RuntimeError: enough\n"])
        large = Profiler::Profile.load("large.folded")
        asking = false
        seen = 0
        main = Thread.current
        watcher = Thread.new do
          sleep 0.001 until asking
          sleep 0.001 while asking && (seen += 1) < 3
          main.raise("enough") if asking
        end
        puts error {
          asking = true
          begin
            large.#{question}
          ensure
            asking = false
          end
        }
        watcher.join
      RUBY
    end
  end
end
