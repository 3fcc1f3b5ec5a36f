# frozen_string_literal: true

RSpec.describe "profiler" do
  def expect_usage_error(*args, saying:)
    result = profiler_child(*args)
    expect(result.err).to match(/\Aprofiler: .*\n\z/).and include(*saying)
    expect([result.code, result.out]).to eq [2, ""]
  end

  it "lists its commands" do
    %w[--help -h help].each do |ask|
      result = profiler_child(ask)
      expect(result.out).to include("record ", "report ", "merge ", "convert ", "doctor ", "run ", "Usage: profiler COMMAND")
      expect([result.code, result.err]).to eq [0, ""]
    end
  end

  it "shows each command's options with examples" do
    {
      %w[record --help] => ["--interval US", "Examples:\n  profiler record -- "],
      %w[run -h] => ["--interval US", "Examples:\n  profiler record -- "],
      %w[help record] => ["--interval US", "Examples:\n  profiler record -- "],
      %w[report --help] => ["--sort-total", "Examples:\n  profiler report "],
      %w[merge --help] => ["--out FILE", "merged-DATE-TIME.pb.gz", "Examples:\n  profiler merge "],
      %w[convert --help] => ["--format FORMAT", "Examples:\n  profiler convert "],
      %w[view --help] => ["--in VIEWER", "Examples:\n  profiler view "],
      %w[tree --help] => ["--min SHARE", "Examples:\n  profiler tree "],
      %w[annotate --help] => ["--source DIR", "Examples:\n  profiler annotate "],
      %w[diff --help] => ["--absolute", "Examples:\n  profiler diff "],
      %w[check --help] => ["--baseline FILES", "Examples:\n  profiler check "],
      %w[completion --help] => ["bash | zsh | fish", "Examples:\n  source "],
      %w[doctor --help] => ["--json", "Examples:\n  profiler doctor"]
    }.each do |args, expected|
      result = profiler_child(*args)
      expect(result.out).to include(*expected)
      expect([result.code, result.err]).to eq [0, ""]
    end
  end

  it "prints its version" do
    %w[--version -V].each { |ask| expect(profiler_child(ask).out).to match(/\Aprofiler \d+\.\d+\.\d+\n\z/) }
  end

  it "prints help even if the extension does not load" do
    result = profiler_child("record", "--help", env: { "RUBYOPT" => "-W0 -r./spec/programs/refusals/other_engine" })
    expect(result.out).to include "--interval US"
    expect(result.code).to eq 0
  end

  it "reports an unsupported Ruby, and does not run the command" do
    result = profiler_child("record", "--", "echo", "ran", env: { "RUBYOPT" => "-W0 -r./spec/programs/refusals/other_engine" })
    expect(result.err).to match(/\Aprofiler: cannot work on this Ruby: fastruby .*\n\z/)
    expect([result.code, result.out]).to eq [1, ""]
  end

  it "prints errors even if Ruby's warnings are off" do
    result = profiler_child("report", "/none", env: { "RUBYOPT" => "-W0" })
    expect(result.err).to eq "profiler: cannot read /none: No such file or directory\n"
  end

  it "reports unknown commands and options with the allowed ones" do
    expect_usage_error(saying: ["no command", "record, stat, boot, ps, attach, top, dump, trace, memory, start, snapshot, stop, detach, view, report, tree, annotate, diff, check, merge, convert, doctor, completion, run, help"])
    expect_usage_error("rekord", saying: ["\"rekord\"", "record, stat, boot, ps, attach, top, dump, trace, memory, start, snapshot, stop, detach, view, report, tree, annotate, diff, check, merge, convert, doctor, completion, run, help"])
    expect_usage_error("help", "rekord", saying: ["\"rekord\"", "record, stat, boot, ps, attach, top, dump, trace, memory, start, snapshot, stop, detach, view, report, tree, annotate, diff, check, merge, convert, doctor, completion, run, help"])
    expect_usage_error("report", "--frob", saying: ["report has no option --frob", "profiler report --help"])
    expect_usage_error("report", "a", "--limit", saying: "--limit needs a value")
    expect_usage_error("report", "a", "--json=1", saying: "--json=1 takes no value")
    expect_usage_error("record", "--f", "1", "--", "true", saying: "--f is ambiguous: several options begin like this")
  end
end
