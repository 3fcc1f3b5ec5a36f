# frozen_string_literal: true

require "zlib"

RSpec.describe "profiler convert" do
  include_context "with a box"

  before { FileUtils.cp(File.join(Child::ROOT, "spec/fixtures/shop.pb.gz"), in_box("shop.pb.gz")) }

  def convert(*args, **options)
    profiler_child("convert", *args, chdir: box, **options)
  end

  def dump(format)
    code = "require 'profiler'; print Profiler::Profile.load(ARGV[0]).dump(ARGV[1])"
    ruby_child("-e", code, in_box("shop.pb.gz"), format).out
  end

  it "infers the format from the file name" do
    { "svg" => "svg", "folded" => "folded", "txt" => "text" }.each do |extension, format|
      result = convert("shop.pb.gz", "it.#{extension}")
      expect([result.code, result.out, result.err]).to eq [0, "", ""]
      expect(File.read(in_box("it.#{extension}"), encoding: Encoding::UTF_8)).to eq dump(format)
    end
    expect(files).to eq %w[it.folded it.svg it.txt shop.pb.gz]
    expect(File.stat(in_box("it.svg")).mode & 0o777).to eq 0o600
  end

  it "writes in --format, even to stdout" do
    convert("shop.pb.gz", "flames", "--format", "svg")
    expect(File.read(in_box("flames"), encoding: Encoding::UTF_8)).to eq dump("svg")
    result = convert("shop.pb.gz", "-", "--format=folded")
    expect([result.code, result.out, result.err]).to eq [0, dump("folded"), ""]
    expect(files).to eq %w[flames shop.pb.gz]
  end

  it "leaves out the names of the app and of its gems with --anonymize, and keeps the numbers" do
    result = convert("shop.pb.gz", "public.pb.gz", "--anonymize")
    expect([result.code, result.out, result.err]).to eq [0, "", ""]
    rows = lambda do |file|
      top = JSON.parse(profiler_child("report", file, "--json", "--limit", "0", chdir: box).out, symbolize_names: true)[:top]
      top.map { |row| [row[:name], row[:self], row[:total]] }
    end
    own, public = rows["shop.pb.gz"], rows["public.pb.gz"]
    expect(public.map { |_, *weights| weights }.sort).to eq(own.map { |_, *weights| weights }.sort)
    expect(public.map(&:first).grep(/Class\d+#m\d+/)).not_to be_empty
    text = Zlib.gunzip(File.binread(in_box("public.pb.gz")))
    expect(own.map(&:first).join).to include("Shop", "save!", "Größe")
    ["Shop", "save!", "Größe", "/app/", "loy>"].each { |name| expect(text).not_to include(name.b) }
    expect(convert("shop.pb.gz", "x.html", "--anonymize", "--source").err).to include("--anonymize leaves out names")
  end

  it "puts the user's editor into a page, unless it is none" do
    editor = ->(value) { File.read(in_box("it.html"))[%r{id="editor">([^<]*)<}, 1] if convert("shop.pb.gz", "it.html", env: { "RAILS_EDITOR" => value }) }
    expect(editor["vscode"]).to eq "vscode://file%f:%l"
    expect(editor["mine://open?%f"]).to eq "mine://open?%f"
    expect(editor["ed"]).to be_nil
    expect(editor['mine://%f</script><script>']).to be_nil
  end

  it "describes its output with --json, as merge and view do" do
    parse = ->(result) { JSON.parse(result.out, symbolize_names: true) }
    written = { format: "folded", bytes: dump("folded").bytesize, samples: 211, totals: { samples: 211, cpu: 847_000_000 } }
    expect(parse[convert("shop.pb.gz", "it.folded", "--json")]).to eq({ file: "it.folded", **written })
    viewed = parse[profiler_child("view", "shop.pb.gz", "--print", "--json", chdir: box)]
    expect(viewed).to include(format: "html", bytes: File.size(viewed[:file]))
    merged = parse[profiler_child("merge", "shop.pb.gz", "shop.pb.gz", "--json", chdir: box)]
    expect(merged).to include(file: /\Amerged-.*\.pb\.gz\z/, format: "pprof", bytes: File.size(in_box(merged[:file])))
    expect(merged[:totals]).to include(cpu: 2 * 847_000_000)
    result = convert("shop.pb.gz", "-", "--format", "folded", "--json")
    expect([result.code, result.out, result.err]).to eq [2, "", "profiler: --json and a profile cannot both go to stdout\n"]
  end

  it "shortens paths with --trim-path, as report and merge do" do
    places = ->(text) { text.scan(%r{\S*/?shop\.rb:20$}) }
    expect(places[convert("shop.pb.gz", "-", "--format", "text").out]).to eq ["/app/lib/shop.rb:20"]
    expect(places[convert("shop.pb.gz", "-", "--format", "text", "--trim-path", "/app").out]).to eq ["lib/shop.rb:20"]
    expect(places[profiler_child("report", "shop.pb.gz", "--trim-path", "/app", chdir: box).out]).to eq ["lib/shop.rb:20"]
    expect(places[profiler_child("merge", "shop.pb.gz", "--trim-path", "/app", "-o", "it.txt", chdir: box).then { File.read(in_box("it.txt")) }]).to eq ["lib/shop.rb:20"]
  end

  it "may write a .pb.gz over itself" do
    before = report("shop.pb.gz")
    expect(convert("shop.pb.gz", "shop.pb.gz").code).to eq 0
    expect(report("shop.pb.gz")).to eq before
  end

  it "ends silently on a closed pipe" do
    reader, writer = IO.pipe
    reader.close
    pid = Process.spawn(Child::CLEAN, RbConfig.ruby, Child::EXE, "convert", in_box("shop.pb.gz"), "-", "--format", "svg",
                        out: writer, err: in_box("err"))
    writer.close
    _pid, status = Process.wait2(pid)
    expect([File.read(in_box("err")), status.exitstatus]).to eq ["", 141]
  end

  it "reports errors in one line, and leaves everything unchanged" do
    bytes = File.binread(in_box("shop.pb.gz"))
    File.binwrite(in_box("cut.pb.gz"), bytes[0, bytes.size / 2])
    File.write(in_box("old.svg"), "an old picture")
    {
      %w[cut.pb.gz new.svg] => [1, "cut.pb.gz: a profile that was cut short"],
      %w[cut.pb.gz old.svg] => [1, "cut.pb.gz: "],
      %w[cut.pb.gz - --format svg] => [1, "cut.pb.gz: "],
      %w[none.pb.gz new.svg] => [1, "cannot read none.pb.gz: No such file"],
      %w[shop.pb.gz none/new.svg] => [1, "cannot write none/new.svg: No such file"],
      %w[shop.pb.gz . --format svg] => [1, "cannot write .: Is a directory"],
      %w[shop.pb.gz new.jpeg] => [2, "/new.jpeg\" (known extensions: .pb.gz, .folded, .html, .svg, .speedscope.json, .firefox.json, .cpuprofile, .callgrind, .stackprof.json, .md, .json, .txt)"],
      %w[shop.pb.gz new.svg --format jpeg] => [2, "unknown format \"jpeg\" (allowed: pprof, folded, html, svg, speedscope, firefox, cpuprofile, callgrind, stackprof, markdown, json, text)"],
      %w[shop.pb.gz - --format jpeg] => [2, "unknown format \"jpeg\""],
      %w[shop.pb.gz shop.pb.gz --format svg] => [2, "shop.pb.gz is also an input, and svg cannot hold all of its data: write to another file"],
      %w[shop.pb.gz -] => [2, "stdout needs a format: profiler convert IN - --format FORMAT"],
      %w[] => [2, "expected two files, IN and OUT, got 0 (usage: profiler convert [options] IN OUT)"],
      %w[shop.pb.gz] => [2, "expected two files, IN and OUT, got 1: shop.pb.gz"],
      %w[shop.pb.gz a.svg b.svg] => [2, "expected two files, IN and OUT, got 3: shop.pb.gz a.svg b.svg"]
    }.each do |args, (status, expected)|
      result = convert(*args)
      expect(result.err).to match(/\Aprofiler: [^\n]*\n\z/).and include(expected)
      expect([args, result.code, result.out, files]).to eq [args, status, "", %w[cut.pb.gz old.svg shop.pb.gz]]
    end
    expect(File.binread(in_box("shop.pb.gz")) == bytes).to be true
    expect(File.read(in_box("old.svg"))).to eq "an old picture"
  end
end
