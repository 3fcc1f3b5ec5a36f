# frozen_string_literal: true

RSpec.describe "profiler merge" do
  include_context "with a box"

  # Two processes of two programs, recorded once for all: the files are only read.
  before(:context) do
    @directory = Dir.mktmpdir("recordings ")
    @recorded = %w[alpha beta].map do |name|
      code = "def #{name} = 20_000.times { |number| number.to_s }; $0 = #{name.inspect}; 60.times { #{name} }"
      File.join(@directory, "#{name}.pb.gz").tap do |path|
        ruby_child("-e", "require 'profiler'; Profiler.run(out: ARGV[0], metadata: { name: #{name.inspect} }) { #{code} }", path)
      end
    end
  end

  after(:context) { FileUtils.remove_entry(@directory) }

  before { @recorded.each { |path| FileUtils.cp(path, box) } }

  def merge(*args, **options)
    profiler_child("merge", *args, chdir: box, **options)
  end

  def refuse(*args, status:, saying:)
    before = files.to_h { |name| [name, File.binread(in_box(name))] }
    result = merge(*args)
    expect(result.err).to match(/\Aprofiler: [^\n]*\n\z/).and include(*saying)
    expect([args, result.code, result.out]).to eq [args, status, ""]
    expect(files.to_h { |name| [name, File.binread(in_box(name))] }).to eq before
  end

  def cpu(name)
    report(name)[:stats][:cpu_ns]
  end

  it "adds up the times of two processes" do
    result = merge("alpha.pb.gz", "beta.pb.gz", "-o", "all.pb.gz")
    expect([result.code, result.out, result.err]).to eq [0, "", ""]
    alpha, beta, all = %w[alpha beta all].map { |name| report("#{name}.pb.gz") }
    %i[cpu_ns samples captured handler_ns].each do |figure|
      expect([figure, all[:stats][figure]]).to eq [figure, alpha[:stats][figure] + beta[:stats][figure]]
    end
    sums = [*alpha[:top], *beta[:top]].group_by { |row| row.values_at(:name, :path, :first_line) }
                                      .transform_values { |rows| [rows.sum { |row| row[:self] }, rows.sum { |row| row[:total] }] }
    expect(all[:top].to_h { |row| [row.values_at(:name, :path, :first_line), row.values_at(:self, :total)] }).to eq sums
  end

  it "lists metadata that differs, and keeps what all have in common" do
    merge("alpha.pb.gz", "beta.pb.gz", "-o", "all.pb.gz")
    pids = %w[alpha beta].map { |name| report("#{name}.pb.gz")[:meta][:pid].to_s }.sort
    meta = report("all.pb.gz")[:meta]
    expect(meta).to include(modes: ["cpu"], program: "", pid: 0, metadata: {}, ruby: RUBY_DESCRIPTION)
    expect(meta[:notes]).to include("merged from 2 profiles", "2 processes: #{pids.join("; ")}", "2 programs: alpha; beta",
                                    "metadata that differed and was left out: name")
    expect(profiler_child("report", in_box("all.pb.gz")).out).to match(/^note +merged from 2 profiles$/)
  end

  it "can add to one of its inputs" do
    merge("alpha.pb.gz", "-o", "all.pb.gz")
    3.times { expect(merge("all.pb.gz", "beta.pb.gz", "-o", "all.pb.gz").code).to eq 0 }
    expect(cpu("all.pb.gz")).to eq cpu("alpha.pb.gz") + (3 * cpu("beta.pb.gz"))
    expect(report("all.pb.gz")[:meta][:notes].grep(/merged|processes/)).to match ["merged from 4 profiles", /\A2 processes: \d+; \d+\z/]
    expect(File.stat(in_box("all.pb.gz")).mode & 0o777).to eq 0o600
  end

  it "infers the format from the name, writes to stdout for -, and prints a default name" do
    merge("alpha.pb.gz", "beta.pb.gz", "-o", "all.svg")
    expect(File.read(in_box("all.svg"))).to include("<svg", "alpha", "beta")

    result = merge("alpha.pb.gz", "beta.pb.gz")
    expect([result.code, result.err, result.out]).to match [0, "", /\Amerged-\d{8}-\d{6}\.pb\.gz\n\z/]
    merged = File.binread(in_box(result.out.chomp))

    command = "\"$0\" \"$1\" merge alpha.pb.gz beta.pb.gz --out - > piped.pb.gz"
    expect(command_child("sh", "-c", command, RbConfig.ruby, Child::EXE, chdir: box).err).to eq ""
    expect(File.binread(in_box("piped.pb.gz")) == merged).to be true
  end

  it "leaves everything unchanged when a file is truncated, missing, or not a profile" do
    bytes = File.binread(in_box("beta.pb.gz"))
    File.binwrite(in_box("cut.pb.gz"), bytes[0, bytes.size / 2])
    File.binwrite(in_box("text.pb.gz"), "puts one\n" * 50)
    refuse("alpha.pb.gz", "cut.pb.gz", "-o", "all.pb.gz", status: 1, saying: "cut.pb.gz: a profile that was cut short")
    refuse("alpha.pb.gz", "cut.pb.gz", "-o", "alpha.pb.gz", status: 1, saying: "cut.pb.gz: ")
    refuse("alpha.pb.gz", "cut.pb.gz", "-o", "-", status: 1, saying: "cut.pb.gz: ")
    refuse("alpha.pb.gz", "cut.pb.gz", status: 1, saying: "cut.pb.gz: ")
    refuse("text.pb.gz", "alpha.pb.gz", "-o", "all.pb.gz", status: 1, saying: "text.pb.gz: not a profile")
    refuse("none.pb.gz", "alpha.pb.gz", "-o", "all.pb.gz", status: 1, saying: "cannot read none.pb.gz: No such file")
  end

  it "checks the output before it reads" do
    refuse("none.pb.gz", "-o", "none/all.pb.gz", status: 1, saying: "cannot write none/all.pb.gz: No such file")
    refuse("none.pb.gz", "-o", "all.jpeg", status: 2, saying: ["all.jpeg", ".svg"])
    refuse(status: 2, saying: "no FILE given (usage: profiler merge [options] FILE...)")
  end

  it "refuses to overwrite an input with a picture" do
    File.rename(in_box("beta.pb.gz"), in_box("beta.svg"))
    refuse("alpha.pb.gz", "beta.svg", "-o", "./beta.svg", status: 2, saying: "./beta.svg is also an input")
  end
end
