# frozen_string_literal: true

require "tmpdir"
require "zlib"

require_relative "../support/tools"

# Law 6: a format counts as supported when the field's own tool has read it.
RSpec.describe "A written file" do
  include Tools
  include_context "with a program"

  before(:context) do
    @directory = Dir.mktmpdir("formats")
    code = <<~RUBY
      require "profiler"
      require "json"
      class Shop
        def sort = Array.new(3_000) { |it| it.to_s }.sort_by { |it| it.reverse }
        def self.serve = 60.times { new.sort }
      end
      define_method("odd;name </script>\\n&") { Shop.serve } rescue Object.define_method("odd;name </script>\\n&") { Shop.serve }
      profile = Profiler.run(timeline: true) { Shop.serve; send("odd;name </script>\\n&"); Thread.new { Thread.current.name = "w;<b>"; Shop.serve }.join }
      %w[pb.gz svg folded txt].each { |it| profile.save("\#{ARGV[0]}/cpu.\#{it}") }
    RUBY
    result = ruby_child("-e", code, @directory)
    raise result.err unless result.status.success?
  end

  after(:context) { FileUtils.remove_entry(@directory) }

  def file(extension) = File.join(@directory, "cpu.#{extension}")

  # The first call can take a minute: newer versions of Go build the tool on demand.
  def pprof(*arguments)
    result = command_child("go", "tool", "pprof", *arguments, file("pb.gz"), env: { "PPROF_TMPDIR" => @directory }, timeout: 400)
    expect(result.status).to be_success, result.err
    expect(result.err).not_to match(/symboliz|warning/i)
    result.out
  end

  it "is read by go tool pprof" do
    need "go"
    top = pprof("-top", "-nodecount=1000")
    expect(top).to match(/^Type: cpu$/).and include("Shop#sort").and include("Shop.serve").and include("<main>")
    shown = top.lines.reject { |line| line =~ /^(File|Type|Time|Duration|Showing|Dropped| +flat)/ }
    expect(shown.size).to be > 3

    expect(pprof("-tags")).to include("thread name").and include("state").and include("running")
    expect(pprof("-sample_index=samples", "-lines", "-top", "-nodecount=1000")).to match(/Shop#sort .*-e:4/)
  end

  it "is decoded by protoc with the schema in spec/fixtures" do
    need "protoc"
    raw = File.join(@directory, "raw")
    File.binwrite(raw, Zlib::GzipReader.open(file("pb.gz"), &:read))
    result = command_child("sh", "-c", "protoc -Ispec/fixtures --decode=profiler.Profile spec/fixtures/profile.proto < '#{raw}'")
    expect(result.status).to be_success, result.err
    expect(result.out).to include("sample_type").and include("Shop#sort").and match(/^timeline \{$.*^  time_delta: \d+$/m)
    expect(result.out).not_to match(/^\s*\d+: /), "a field that our description does not know"
    expect(result.out.scan(/^mapping \{/).size).to eq(1)
  end

  it "is rendered by a browser, which runs nothing from a name" do
    browser = need("chromium", "chromium-browser", "google-chrome")
    profile = File.join(@directory, "chromium")
    flags = %W[--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
               --disable-component-update --disable-sync --virtual-time-budget=3000 --user-data-dir=#{profile}]
    result = command_child(browser, *flags, "--dump-dom", "file://#{file("svg")}", timeout: 120, env: { "HOME" => @directory })
    expect(result.out).to include("<svg").and include("Shop#sort")
    # The script of the file has run: it hides the button and fits the texts.
    expect(result.out).to match(/<text[^>]*>[^<]*Shop[^<]*</)
    expect(result.out.scan(/<script/).size).to eq(File.read(file("svg")).scan(/<script/).size)
    expect(result.out).not_to include("<b>")
  end

  it "is well-formed" do
    need "xmllint"
    result = command_child("xmllint", "--noout", "--nonet", file("svg"))
    expect(result.status).to be_success, result.err
  end

  it "has one stack per line, with the weight last" do
    lines = File.read(file("folded")).lines(chomp: true)
    expect(lines).not_to be_empty
    expect(lines).to all(match(/\A[^;].* \d+\z/))
    expect(lines).to eq(lines.sort)
    expect(lines.grep(/Shop\.serve;.*Shop#sort/)).not_to be_empty
  end

  it "is read back unchanged" do
    report, same, timeline, samples = run_json(<<~RUBY, chdir: @directory)
      profile = Profiler::Profile.load("cpu.pb.gz")
      print_json([profile.report, profile.dump(:pprof) == File.binread("cpu.pb.gz"), *[profile.timeline, profile.samples].map { |it| it.sum(&:cpu) }])
    RUBY
    expect(report).to eq(File.read(file("txt")))
    expect(same).to be(true)
    expect(timeline).to eq(samples).and be_positive
  end
end
