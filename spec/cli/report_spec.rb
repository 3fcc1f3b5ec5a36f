# frozen_string_literal: true

require_relative "../support/terminal"

RSpec.describe "profiler report" do
  include Terminal
  include_context "with a box"

  # One recording for all: the file is only read.
  before(:context) do
    @directory = Dir.mktmpdir("a recording ")
    @recorded = File.join(@directory, "it.pb.gz")
    code = "def deep(n) = n.zero? ? 3000.times { |it| it.to_s } : deep(n - 1); 1_000.times { deep(5) }"
    ruby_child("-e", "require 'profiler'; Profiler.run(out: ARGV[0]) { #{code} }", @recorded)
  end

  after(:context) { FileUtils.remove_entry(@directory) }

  attr_reader :recorded

  def rows(text)
    text[/^.*FUNCTION.*\n((?:.*%.*\n)*)/, 1].to_s.lines
  end

  it "prints the table on stdout" do
    result = profiler_child("report", recorded)
    expect(result.out).to match(/mode +cpu/).and include("FUNCTION", "deep")
    expect(result.out).not_to include "\e["
    expect([result.code, result.err]).to eq [0, ""]
  end

  it "shows --limit functions, all with 0" do
    expect(rows(profiler_child("report", recorded, "--limit", "2").out).size).to eq 2
    expect(rows(profiler_child("report", "--limit=1", recorded).out).size).to eq 1
    all = JSON.parse(profiler_child("report", recorded, "--json", "--limit", "0").out)["top"]
    expect(rows(profiler_child("report", recorded, "--limit", "0").out).size).to eq(all.size).and be > 2
  end

  it "sorts by total with --sort-total" do
    totals = JSON.parse(profiler_child("report", recorded, "--json", "--sort-total").out)["top"].map { |row| row["total"] }
    own = JSON.parse(profiler_child("report", recorded, "--json").out)["top"].map { |row| row["self"] }
    expect([totals, own].map { |item| item.uniq.size }).to all be > 2
    expect(totals).to eq totals.sort.reverse
    expect(own).to eq own.sort.reverse
    shown = rows(profiler_child("report", recorded, "--sort-total").out).map { |row| Float(row[/[\d.]+(?=%)/]) }
    expect(shown).to eq shown.sort.reverse
    expect(shown.size).to eq totals.size
  end

  it "prints JSON of a stable shape" do
    json = JSON.parse(profiler_child("report", recorded, "--json").out)
    expect(json.keys).to eq %w[file findings sort meta stats top]
    expect(json["file"]).to eq recorded
    expect(json["meta"]).to include("modes" => ["cpu"], "engine" => String)
    expect(json["stats"]).to include("samples" => Integer, "cpu_ns" => Integer, "dropped" => Integer)
    expect(json["top"]).to be_any.and all match("name" => String, "path" => String, "first_line" => Integer,
                                                "self" => Integer, "total" => Integer)
  end

  it "names the other types that were measured, and how to see them" do
    path = in_box("both.pb.gz")
    ruby_child("-e", "require 'profiler'; Profiler.run(mode: %i[cpu allocations], out: ARGV[0]) { 300_000.times { |it| it.to_s } }", path)
    expect(profiler_child("report", path).out).to match(/^cpu: .* in all\nalso measured: alloc_objects, alloc_space \(--type NAME\)\n\n/)
    expect(profiler_child("report", path, "--type", "alloc_space", "--by", "thread").out).to match(/ in all\nalso measured: cpu, alloc_objects \(--type NAME\)\n\n/)
    expect(profiler_child("report", recorded).out).not_to include "also measured"
  end

  it "fits a terminal" do
    text, = terminal_child("sh", "-c", "stty cols 80; exec \"$@\"", "sh", RbConfig.ruby, Child::EXE, "report", recorded, "--color=never")
    lines = text.delete("\r").lines(chomp: true)
    expect(lines).to include(/FUNCTION/)
    expect(lines.map(&:size).max).to be <= 80
  end

  describe "by a label" do
    let(:shop) { "spec/fixtures/shop.pb.gz" }

    it "lists its values" do
      result = profiler_child("report", shop, "--by", "endpoint")
      expect(result.out).to include("ENDPOINT").and match(/^40\.0 ms +4\.7% +orders#index +40\.0 ms +100\.0% +\S/)
      expect([result.code, result.err]).to eq [0, ""]
      expect(profiler_child("report", recorded, "--by=thread", "--limit", "0").out).to match(/ 100\.0% +\S.* \(\d+\) +\S+ ms +\d+\.\d% +\S/)
    end

    it "prints JSON of a stable shape" do
      json = JSON.parse(profiler_child("report", shop, "--by", "endpoint", "--json").out)
      expect(json.keys).to eq %w[file by meta stats values]
      expect(json["values"].map { |row| row.values_at("value", "weight") }).to eq [["(none)", 807_000_000], ["orders#index", 40_000_000]]
      expect(json["values"].map { |row| row["heaviest"] })
        .to all match("name" => String, "path" => String, "first_line" => Integer, "self" => Integer)
    end

    it "reports an unknown label with the known ones and the file" do
      result = profiler_child("report", shop, "--by", "job")
      expect(result.err).to eq "profiler: #{shop}: no sample has a label \"job\" (there are thread, state, package, gem, file, class, endpoint)\n"
      expect([result.code, result.out]).to eq [1, ""]
      result = profiler_child("report", shop, "--by", "thread", "--sort-total")
      expect([result.code, result.err]).to match [2, /\Aprofiler: --sort-total .*--by.*\n\z/]
    end
  end

  describe "with --markers" do
    let(:marked) do
      in_box("marked.pb.gz").tap do |path|
        ruby_child("-e", <<~RUBY, path)
          require "profiler"
          def load_items = Profiler.marker("SQL Item Load: SELECT ?") { sleep 0.03 }
          Profiler.run(mode: :wall, timeline: true, out: ARGV[0]) do
            Thread.new { Thread.current.name = "aside"; Profiler.marker("elsewhere") { sleep 0.05 } }.join
            3.times { load_items }
            Profiler.marker("now")
          end
        RUBY
      end
    end

    it "lists them by name: how many, how long, and where" do
      result = profiler_child("report", marked, "--markers", "--full-paths")
      expect([result.code, result.err]).to eq [0, ""]
      time = /[\d.]+ ms/
      expect(result.out).to match(/\A5 markers of 3 names\n\n +TOTAL +COUNT +MEAN +LARGEST  MARKER\n/)
      expect(result.out).to match(/^ *#{time} +3 +#{time} +#{time}  SQL Item Load: SELECT \?\n +in Object#load_items  -e:2\n/)
        .and match(/^ *#{time} +1 +#{time} +#{time}  elsewhere\n/).and match(/^ +1 {24}now\n\z/)
      expect(profiler_child("report", marked, "--markers", "--limit", "1").out).to match(/ MARKER\n.* SQL .*\n.*\n2 more names left out \(limit 1\)\n\z/)
    end

    it "prints JSON, and only what threads did that --thread selects" do
      json = JSON.parse(profiler_child("report", marked, "--markers", "--json").out)
      expect(json.keys).to eq %w[file meta stats markers]
      expect(json["markers"].map { |entry| entry.values_at("name", "count") }).to eq [["SQL Item Load: SELECT ?", 3], ["elsewhere", 1], ["now", 1]]
      expect(json["markers"].first).to include("total" => be >= 90_000_000, "mean" => be >= 30_000_000, "largest" => be >= 30_000_000,
                                               "place" => { "name" => "Object#load_items", "path" => "-e", "line" => 2 })
      json = JSON.parse(profiler_child("report", marked, "--markers", "--json", "--thread", "aside").out)
      expect(json["markers"].map { |entry| entry["name"] }).to eq %w[elsewhere]
    end

    it "says what is not there: markers, or their places" do
      expect(profiler_child("report", recorded, "--markers").out).to eq "markers: none (Profiler.marker and profiler/rails record them)\n"
      path = in_box("it.pb.gz")
      ruby_child("-e", "require 'profiler'; Profiler.run(mode: :wall, out: ARGV[0]) { Profiler.marker('it') { sleep 0.01 } }", path)
      expect(profiler_child("report", path, "--markers").out).to match(/\A1 marker of 1 name\nWithout a timeline .*\n\n.*\n.* it\n\z/)
    end

    it "excludes other tables" do
      { %w[--by thread] => "--by and --markers cannot be combined", %w[--sort-total] => "--sort-total orders functions, but --markers lists markers: pass one of them" }
        .each do |options, message|
          result = profiler_child("report", marked, "--markers", *options)
          expect([result.code, result.err]).to eq [2, "profiler: #{message}\n"]
        end
    end
  end

  describe "colour" do
    # Returns what the command prints on a terminal.
    def on_terminal(*args, env: {})
      terminal_child(RbConfig.ruby, Child::EXE, "report", recorded, *args, env: env).first
    end

    it "is used on a terminal, unless NO_COLOR, TERM=dumb or --color=never turn it off" do
      expect(on_terminal).to include "\e["
      expect(on_terminal(env: { "NO_COLOR" => "" })).to include "\e["
      expect(on_terminal(env: { "NO_COLOR" => "1" })).not_to include "\e["
      expect(on_terminal(env: { "TERM" => "dumb" })).not_to include "\e["
      expect(on_terminal("--color=never")).not_to include "\e["
    end

    it "is used elsewhere only with --color or --color=always, which override NO_COLOR" do
      expect(profiler_child("report", recorded, "--color").out).to include "\e["
      expect(profiler_child("report", recorded, "--color=always", env: { "NO_COLOR" => "1" }).out).to include "\e["
      expect(profiler_child("report", recorded, "--color=auto").out).not_to include "\e["
    end

    it "has three choices" do
      result = profiler_child("report", recorded, "--color=pink")
      expect([result.code, result.err]).to eq [2, "profiler: --color \"pink\" is not a choice (allowed: auto, always, never)\n"]
    end
  end

  it "reports an unreadable file in one line" do
    bytes = File.binread(recorded)
    {
      "missing.pb.gz" => nil, "empty.pb.gz" => "", "cut.pb.gz" => bytes[0, bytes.size / 2],
      "short.pb.gz" => bytes[0, 5], "foreign.pb.gz" => "puts one\n" * 50, "random.pb.gz" => Random.new(1).bytes(2000)
    }.each do |name, content|
      File.binwrite(in_box(name), content) if content
      result = profiler_child("report", in_box(name))
      expect(result.err).to match(/\Aprofiler: [^\n]*\n\z/).and include(in_box(name))
      expect([name, result.code, result.out]).to eq [name, 1, ""]
    end
    expect(profiler_child("report", box).err).to eq "profiler: cannot read #{box}: Is a directory\n"
  end

  it "says what a file is if it is not a profile" do
    { "a.rb" => "puts 1\nx = y\n", "callgrind.out" => "version: 1\nfl=shop.rb\n" }.each do |name, content|
      File.binwrite(in_box(name), content)
      expect(profiler_child("report", in_box(name)).err).to match(/: not a profile: pprof, .* are read, packed by gzip or not\n\z/)
    end
    File.binwrite(in_box("cpu.dump"), Marshal.dump({ version: 1.2, mode: :cpu, frames: {} }))
    result = profiler_child("report", in_box("cpu.dump"))
    expect([result.code, result.err]).to match [1, /: a stackprof dump, .*convert it with stackprof --json FILE > FILE\.json\n\z/]
  end

  it "reads a bounded part of a file" do
    File.open(in_box("sparse.pb.gz"), "wb") { |file| file.truncate(100 * 2**30) }
    ["/dev/zero", in_box("sparse.pb.gz")].each do |path|
      result = command_child("sh", "-c", "ulimit -v 4000000; exec \"$@\"", "sh", RbConfig.ruby, Child::EXE, "report", path, timeout: 30)
      expect([result.code, result.err]).to eq [1, "profiler: #{path}: too large to read: it has more than 256 MiB\n"]
    end
    result = command_child("sh", "-c", "cat \"$3\" | \"$1\" \"$2\" report /dev/stdin", "sh", RbConfig.ruby, Child::EXE, recorded)
    expect([result.out, result.err]).to match [/FUNCTION/, ""]
  end

  it "requires one file and a numeric limit" do
    { [] => "no FILE given", [recorded, "b"] => "expected one FILE, got 2", [recorded, "--limit", "x"] => "--limit \"x\"",
      [recorded, "--limit", "-1"] => "--limit \"-1\" is not a limit (allowed: a whole number; 0 for all)" }.each do |args, expected|
      result = profiler_child("report", *args)
      expect(result.err).to match(/\Aprofiler: [^\n]*\n\z/).and include(expected)
      expect([result.code, result.out]).to eq [2, ""]
    end
  end

  it "ends silently on a closed pipe" do
    reader, writer = IO.pipe
    reader.close
    pid = Process.spawn(Child::CLEAN, RbConfig.ruby, Child::EXE, "report", recorded, out: writer, err: in_box("err"))
    writer.close
    _pid, status = Process.wait2(pid)
    expect([File.read(in_box("err")), status.exitstatus]).to eq ["", 141]
  end
end
