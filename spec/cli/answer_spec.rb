# frozen_string_literal: true

# The last lines of `profiler record` and `profiler stat`.
RSpec.describe "the end of profiler record" do
  include_context "with a box"

  def record(*args, **options)
    profiler_child("record", *args, chdir: box, **options)
  end

  let(:ruby) { RbConfig.ruby }
  let(:app) { script("#{burn}\nburn(250)\n") }

  it "says what the program used, what stands out, what was written, and what to do next", :timed do
    lines = record("-o", "a.pb.gz", "--", ruby, app).err.lines(chomp: true)
    expect(lines[0]).to match(/\A\[profiler\] [\d.,]+ m?s real, [\d.,]+ m?s user, [\d.,]+ (?:ms|us|s) sys\z/)
    expect(lines[1]).to match(/\A {11}[\d.]+ MiB of memory at most, [\d,]+ objects, \d+ GCs? took (?:0|[\d.]+ .?s)\z/)
    expect(lines[2]).to match(/\A {11}[\d,]+ page faults(?: \([\d,]+ from disk\))?, [\d,]+ context switch(?:es)? \([\d,]+ forced\)\z/)
    expect(lines[3..-3]).to include(match(/\A *[\d.]+%  running .*Object#burn\b.*  app\.rb:1\z/))
    expect(lines[-2]).to match(/\A\[profiler\] wrote a\.pb\.gz \([\d,]+ samples(?:, \d+ dropped)?, overhead [\d.]+% of (?:the CPU time|one core)\)\z/)
    expect(lines[-1]).to match(/\A {11}(?:more: profiler view, or|profiler view;) profiler report --method '.*'\z/)
    expect(lines.size).to be <= 12
    expect(lines.map(&:size)).to all be <= 80
  end

  it "counts objects if no time was sampled" do
    result = record("--mode", "heap", "-o", "a.pb.gz", "--", ruby, "-e", "$kept = Array.new(20_000) { |number| number.to_s * 50 }")
    expect(result.err).to match(/wrote a\.pb\.gz \([\d,]{6,} objects, [\d,]{6,} of them live, overhead [\d.]+%[^)]*\)$/)
  end

  it "is JSON with --json", :timed do
    result = record("--json", "-o", "a.pb.gz", "--", ruby, app)
    expect(result.out).to eq ""
    json = JSON.parse(result.err, symbolize_names: true)
    expect(json).to match(
      real_ns: be_between(200_000_000, 60_000_000_000), user_ns: be > 200_000_000, system_ns: Integer, peak_bytes: be_between(5 << 20, 2 << 30),
      minor_faults: be > 100, major_faults: Integer, voluntary_switches: Integer, forced_switches: Integer, processes: 1, gc_count: Integer,
      gc_ns: Integer, objects: be > 10_000, samples: be > 10, dropped: Integer, files: [in_box("a.pb.gz")],
      findings: include(include(kind: "running", line: 1, path: app)), memory: []
    )
  end

  it "adds up the processes, and names the first one's file" do
    result = record("-o", "a.pb.gz", "--", ruby, script("#{burn}\nfork { burn(100) }\nfork { burn(100) }\nProcess.waitall\nburn(50)"))
    expect(result.err).to match(/, 3 Ruby processes$/).and include("[profiler] wrote a.pb.gz and 2 more of other processes")
    json = JSON.parse(record("--json", "-o", "b.pb.gz", "--", ruby, app).err)
    both = JSON.parse(record("--json", "-o", "c.pb.gz", "--", ruby, script("#{burn}\nfork { burn(250) }\nProcess.waitall")).err)
    expect(both["objects"]).to be < json["objects"] * 2 # a child does not count again what its parent allocated
  end

  it "prints findings even if only pictures are written, and leaves no other file", :timed do
    result = record("-o", "a.svg", "--", ruby, app)
    expect(result.err).to match(/running .*burn/).and include("[profiler] wrote a.svg")
    expect(result.err.lines.last).to eq "           to read this profile again, also write a .pb.gz: add --out FILE.pb.gz\n"
    expect(files).to eq %w[a.svg app.rb]
  end

  it "names a file that is not the newest .pb.gz here in the commands that come next" do
    FileUtils.mkdir("#{box}/sub dir")
    ["sub dir/a.pb.gz", "a.html"].each do |file|
      step = record("-o", file, "--", ruby, app).err.lines(chomp: true).last.strip
      expect(step).to start_with("profiler view #{Shellwords.escape(file)}")
      expect(step.size).to be <= 69
      shown = profiler_child(*Shellwords.split(step[/profiler (report .*?)(?: shows the table)?\z/, 1]), chdir: box)
      expect(shown.status).to be_success, shown.err
      expect(shown.out).to include("app.rb") # the program; what ran longest is not in every table
    end
  end

  it "prints no escape sequence that a program has in a name" do
    source = "#{burn}\nc = Class.new { define_method(\"a\\e[31m\\nb\") { 200_000.times { |it| it & 1 } } }\nObject.const_set(:Sly, c); 40.times { c.new.send(\"a\\e[31m\\nb\") }"
    err = record("-o", "a.pb.gz", "--", ruby, script(source)).err
    expect(err).to match(/running .*Sly#a/)
    expect(err).not_to include "\e"
    expect(err.lines.size).to be <= 12
    expect(record("-o", "a\e[31m.pb.gz", "--", ruby, app).err).to include("[profiler] wrote a").and match(/\A[^\e]*\z/)
  end

  it "does not disturb an app that has redefined GC.stat" do
    result = record("-o", "a.pb.gz", "--", ruby, script("#{burn}\ndef GC.stat(*) = raise('mine')\npid = fork { burn(50); exit(4) }\nProcess.wait(pid)\nburn(50)\nexit($?.exitstatus)"))
    expect(result.code).to eq 4
    expect(result.err.scan("are not counted: mine").size).to eq 3 # the child as it begins, and the end of both
    expect(result.err).to include("wrote a.pb.gz").and include("0 objects")
  end

  it "is all that stat does" do
    result = profiler_child("stat", "--", ruby, app, chdir: box)
    expect(result.err).to match(/\A\[profiler\] .* real.*running .*burn/m)
    expect(result.err).not_to include "wrote"
    expect(files).to eq %w[app.rb]
    expect(profiler_child("stat", "--title", "x", "--", ruby, app, chdir: box).err).to match(/stat has no option --title/)
    expect(profiler_child("stat", "--", ruby, "-e", "exit 7", chdir: box).code).to eq 7
  end

  it "records a program that is named without a command" do
    result = profiler_child(ruby, app, chdir: box)
    expect(result.err).to include("[profiler] wrote profile-")
    expect(profiler_child("no-such-program", chdir: box).err).to match(/"no-such-program" is not a command/)
  end

  it "opens the page with --open" do
    browser = script("#!/bin/sh\nhead -c 100 \"$1\" > opened\n", name: "browser")
    File.chmod(0o755, browser)
    record("--open", "--", ruby, app, env: { "BROWSER" => browser })
    wait_until { File.size?(in_box("opened")) }
    expect(File.read(in_box("opened"))).to start_with "<!DOCTYPE html>"
  end

  it "keeps the status of the command if no browser can be opened" do
    result = record("--open", "-q", "-o", "a.pb.gz", "--", ruby, "-e", "exit 3", env: { "BROWSER" => "/none", "PATH" => box })
    expect([result.code, result.err]).to match [3, /\Aprofiler: no browser was found/]
  end

  it "writes nothing but what was requested with --quiet" do
    profiler_child("stat", "-q", "--", ruby, app, chdir: box)
    expect(files).to eq %w[app.rb]
  end

  it "measures waits by default on Rubies where that ends no system call" do
    record("-o", "a.pb.gz", "--", ruby, "-e", "sleep 0.01")
    expect(report("a.pb.gz")[:meta][:modes]).to eq(RUBY_VERSION < "3.3" ? ["cpu"] : %w[cpu wall])
  end

  describe "a command without FILE" do
    it "takes the newest profile of the directory, and names it" do
      %w[old.pb.gz new.pb.gz].each { |name| record("-q", "-o", name, "--", ruby, app) }
      File.utime(Time.now - 60, Time.now - 60, in_box("old.pb.gz"))
      commands = [%w[report], %w[tree], %w[annotate], %w[annotate app.rb], %w[view --print], ["check", "--max", "Object#burn: 99s"]]
      commands.each do |command|
        result = profiler_child(*command, chdir: box)
        expect([command, result.code, result.err]).to eq [command, 0, "profiler: reading new.pb.gz, the newest profile here\n"]
      end
    end

    it "fails if there is none" do
      result = profiler_child("report", chdir: box)
      expect([result.code, result.err]).to eq [2, "profiler: no FILE given, and there is no .pb.gz in this directory (usage: profiler report [options] [FILE])\n"]
    end
  end
end
