# frozen_string_literal: true

RSpec.describe "profiler record" do
  include_context "with a box"

  def record(*args, **options, &block)
    profiler_child("record", *args, chdir: box, **options, &block)
  end

  let(:ruby) { RbConfig.ruby }

  it "runs a command, writes its profile and prints a summary on stderr", :timed do
    result = record("--out", "out.pb.gz", "--", ruby, "-e", "#{burn}; burn(200); puts ARGV", "--", "an argument", "--x")
    expect([result.code, result.out]).to eq [0, "an argument\n--x\n"]
    expect(result.err).to match(/\A\[profiler\] .* real, .*running .*Object#burn.*^\[profiler\] wrote out\.pb\.gz /m)
    expect(files).to eq ["out.pb.gz"]
    expect(functions("out.pb.gz")).to include("Object#burn")
  end

  it "counts the objects of the program, and not those of its own start and end" do
    result = record("--mode", "allocations", "--every", "1", "--out", "a.pb.gz", "--", ruby, "-e", "3.times { Object.new }")
    counted = JSON.parse(profiler_child("report", "--json", "a.pb.gz", chdir: box).out).dig("stats", "objects")
    expect(counted).to be_between(3, 120)
    expect(Integer(result.err[/([\d,]+) objects, \d+ GCs/, 1].delete(","))).to be_within(30).of(counted)
  end

  it "counts what a program used before it became a daemon" do
    result = record("--mode", "cpu", "--out", "a.pb.gz", "--", ruby, "-e", "2_000.times { Object.new }; Process.daemon(true, true)")
    expect(Integer(result.err[/([\d,]+) objects, \d+ GCs/, 1].delete(","))).to be_between(2_000, 2_500)
  end

  it "says that a program was too short, and which interval would do" do
    result = record("--mode", "cpu", "--out", "a.pb.gz", "--interval", "100000", "--", ruby, "-e", "#{burn}; burn(60)")
    expect(result.err.gsub(/\s+/, " ")).to match(
      / (?:only \d samples?|no samples) \(\d+\.\d ms of CPU time\)(?:, too few to rely on)?: an interval of 500 us, not 100 ms, takes up to \d+ \(--interval 500\) \[profiler\] wrote a\.pb\.gz /
    )
    shown = profiler_child("report", in_box("a.pb.gz")).out
    expect(shown).to match(/^samples +(?:only \d samples?|no samples) \(/).and match(/^overhead +\d.* in signal handlers/)
    result = record("--mode", "cpu", "--out", "b.pb.gz", "--", ruby, "-e", "sleep 0.3")
    expect(result.err.gsub(/\s+/, " ")).to match(/ (only \d samples? .* too few to rely on|no samples \(\d.* of CPU time\)): most of the time it was not running, and mode wall shows why \[profiler\] wrote b\.pb\.gz/)
    env = { "PROFILER_OUT" => in_box("c.pb.gz"), "PROFILER_INTERVAL" => "100000" }
    expect(ruby_child("-rprofiler/autoload", "-e", "#{burn}; burn(60)", env: env).err).to include "(PROFILER_INTERVAL=500) -> "
  end

  it "is also called run, and needs no --" do
    result = profiler_child("run", "--quiet", ruby, "-e", "p ARGV", "--", "--", chdir: box)
    expect([result.code, result.out, result.err]).to eq [0, "[\"--\"]\n", ""]
  end

  it "names the file by the time by default" do
    record("--", ruby, "-e", "1")
    expect(files).to match [/\Aprofile-\d{8}-\d{6}\.pb\.gz\z/]
    record("--format", "folded", "--", ruby, "-e", "1")
    expect(files).to include(/\Aprofile-\d{8}-\d{6}\.folded\z/)
  end

  it "writes several files, in the formats of their names or in --format" do
    result = record("--out", "a b.svg", "-o", "a.pb.gz", "--", ruby, "-e", "1")
    expect(files).to eq ["a b.svg", "a.pb.gz"]
    expect(File.read(in_box("a b.svg"))).to include "<svg"
    expect(result.err).to match(/^\[profiler\] wrote a b\.svg, a\.pb\.gz/)
    record("--out", "it.data", "--format", "svg", "--", ruby, "-e", "1")
    expect(File.read(in_box("it.data"))).to include "<svg"
  end

  it "passes its options on" do
    record("--out", "a.pb.gz", "--interval", "5000", "--mode", "cpu", "--depth", "200", "--engine", "safepoint", "--",
           ruby, "-e", "1")
    expect(report("a.pb.gz")).to include(meta: include(engine: "safepoint", modes: ["cpu"]), stats: include(interval_ns: 5_000_000))
    record("--out", "b.pb.gz", "--frequency=500", "--", ruby, "-e", "1")
    expect(report("b.pb.gz")).to include(stats: include(interval_ns: 2_000_000))
  end

  it "cuts paths at --trim-path, or at the directory in which the command starts" do
    FileUtils.mkdir_p(in_box("app"))
    File.write(in_box("app/a.rb"), "class Job; def work = 1_000_000.times { |it| it.to_s }; end; Job.new.work")
    paths = ->(file) { report(file)[:top].select { |row| row[:name] == "Job#work" }.map { |row| row[:path] }.uniq }
    record("--out", "a.pb.gz", "--trim-path", "--", ruby, "app/a.rb")
    expect(paths["a.pb.gz"]).to eq ["app/a.rb"]
    record("--out", "b.pb.gz", "--trim-path=app", "--", ruby, "app/a.rb")
    expect(paths["b.pb.gz"]).to eq ["a.rb"]
    record("--out", "c.pb.gz", "--", ruby, "app/a.rb")
    expect(paths["c.pb.gz"]).to eq [File.realpath(in_box("app/a.rb"))]
  end

  it "ignores PROFILER_* of its own environment" do
    outer = { "PROFILER_MODE" => "nonsense", "PROFILER_QUIET" => "1", "PROFILER_OUT" => "outer.svg",
              "PROFILER_OWNER_PID" => "1", "PROFILER_CLAIMS" => "/none" }
    result = record("--out", "inner.svg", "--", ruby, "-e", "1", env: outer)
    expect(files).to eq ["inner.svg"]
    expect(result.err).to include "wrote inner.svg"
  end

  it "can be recorded itself" do
    result = record("--out", "outer.svg", "--", ruby, Child::EXE, "record", "--out", "inner.svg", "--", ruby, "-e", "exit 4")
    expect([result.code, files]).to eq [4, %w[inner.svg outer.svg]]
  end

  it "keeps RUBYOPT and RUBYLIB" do
    Dir.mkdir(in_box("own lib"))
    script("OWN = 1", name: "own lib/own.rb")
    env = { "RUBYOPT" => "-W0 -rown", "RUBYLIB" => in_box("own lib") }
    result = record("--out", "a.svg", "--", ruby, "-e", "p OWN, $VERBOSE, ENV['RUBYOPT'], ENV['RUBYLIB']", env: env)
    expect(result.out.lines(chomp: true)).to eq(
      ["1", "nil", "-rprofiler/autoload -W0 -rown".inspect, "#{Child::LIB}:#{in_box("own lib")}".inspect]
    )
    expect(files).to include "a.svg"
  end

  it "passes stdin through" do
    expect(record("--quiet", "--", ruby, "-e", "print $stdin.read.upcase", stdin: "words").out).to eq "WORDS"
  end

  it "prints nothing with --quiet" do
    result = record("--quiet", "--out", "a.svg", "--", ruby, "-e", "warn 1")
    expect([result.err, files]).to eq ["1\n", ["a.svg"]]
  end

  describe "processes of the command" do
    it "write beside the first one's file" do
      code = "pid = spawn(#{ruby.inspect}, '-e', '1'); Process.wait(pid); puts pid"
      result = record("--out", "my.app.pb.gz", "--out", "a.svg", "--", ruby, "-e", code)
      pid = result.out.chomp
      expect(files).to eq ["a.#{pid}.svg", "a.svg", "my.app.#{pid}.pb.gz", "my.app.pb.gz"].sort
      expect(report("my.app.#{pid}.pb.gz")[:meta][:pid]).to eq pid.to_i
      expect(report("my.app.pb.gz")[:meta][:pid]).not_to eq pid.to_i
      expect(result.err).to include "[profiler] wrote my.app.pb.gz, a.svg and 2 more of other processes"
    end

    it "overwrite nothing when a shell starts them, one after the other" do
      record("--out", "a.svg", "--", "sh", "-c", "\"$0\" -e 1; \"$0\" -e 2", ruby)
      expect(files).to match [/\Aa\.\d+\.svg\z/, "a.svg"]
    end

    it "write to the given path, whatever their working directory" do
      Dir.mkdir(in_box("sub"))
      record("--out", "a.svg", "--", "sh", "-c", "cd sub && exec \"$0\" -e 1", ruby)
      expect([files, Dir.children(in_box("sub"))]).to eq [%w[a.svg sub], []]
    end

    it "keep the name when they become another Ruby" do
      result = record("--out", "a.svg", "--", ruby, "-e", "exec #{ruby.inspect}, '-e', 'exit 9'")
      expect([result.code, files, result.err.scan("wrote").size]).to match [9, include("a.svg"), 1]
    end
  end

  it "reports when nothing was written, and keeps the status" do
    result = record("--out", "a.svg", "--", "sh", "-c", "exit 3")
    expect(result.err).to match(/\Aprofiler: no profile was written: sh is not a Ruby program.*\n\z/)
    expect([result.code, files]).to eq [3, []]
    result = record("--out", "a.svg", "--", ruby, "-e", "exec 'sh', '-c', 'exit 5'")
    expect(result.code).to eq 5
    expect(files).to all(match(/\Aa\.\d+\.0\.svg\z/)) # what Ruby needed to start, if a tick hit that
    result = record("--out", "b.svg", "--", ruby, "-e", "Process.kill(:KILL, $$); sleep")
    expect(result.err).to match(/\Aprofiler: no profile was written: .*killed by SIGKILL\n\z/)
    expect([result.code, files.grep(/\Ab/)]).to eq [137, []]
  end

  it "leaves no temporary file behind" do
    Dir.mkdir(in_box("tmp"))
    record("--out", "a.svg", "--", ruby, "-e", "1", env: { "TMPDIR" => in_box("tmp") })
    expect([files, Dir.children(in_box("tmp"))]).to eq [%w[a.svg tmp], []]
  end

  describe "the check before the command starts" do
    def refuse(*args, status:, saying:)
      result = record(*args, "--", "touch", "started")
      expect(result.err).to match(/\Aprofiler: [^\n]*\n\z/).and include(*saying)
      expect([args, result.code, result.out, files]).to eq [args, status, "", []]
    end

    it "covers the values of the options" do
      refuse("--mode", "speed", status: 2, saying: ["--mode speed", "allowed: cpu"])
      refuse("--mode", "cpu,speed", status: 2,
                                    saying: ["--mode cpu,speed is not a mode (allowed: cpu, wall, allocations, heap, native, or several separated by commas)"])
      refuse("--mode", ",:", status: 2, saying: "--mode ,: is not a mode")
      refuse("--label", "a", status: 2, saying: "--label \"a\" is not NAME=VALUE")
      refuse("--duration", "nan", status: 2, saying: "--duration \"nan\" is not a number of seconds above 0")
      refuse("--signal", "KILL", status: 2, saying: "--signal \"KILL\" is not a signal that can be used")
      refuse("--interval", "fast", status: 2, saying: ["--interval \"fast\"", "from 50 to 1000000"])
      refuse("--interval", "49", status: 2, saying: ["--interval 49", "from 50 to 1000000"])
      refuse("--interval", "-5", status: 2, saying: ["--interval -5", "from 50 to 1000000"])
      refuse("--interval", "", status: 2, saying: "--interval \"\"")
      refuse("--frequency", "0", status: 2, saying: ["--frequency 0", "from 1 to 20000"])
      refuse("--interval", "100", "--frequency", "100", status: 2, saying: ["--interval and --frequency"])
      refuse("--depth", "5", status: 2, saying: ["--depth 5", "from 128 to 10000"])
      refuse("--engine", "steam", status: 2, saying: ["--engine steam", "perf, thread_timer, ticker, setitimer, safepoint"])
      refuse("--format", "jpeg", status: 2, saying: ["jpeg", "svg"])
      refuse("--out", "a.jpeg", status: 2, saying: ["a.jpeg", ".svg"])
      refuse("--out", "", status: 2, saying: "--out \"\"")
      refuse("--out", "two\nlines.svg", status: 2, saying: "line break")
      refuse("--fast", status: 2, saying: "record has no option --fast")
    end

    it "covers the output path" do
      refuse("--out", "none/a.svg", status: 1, saying: "cannot write #{in_box("none/a.svg")}: No such file")
      refuse("--out", box, "--format", "svg", status: 1, saying: "cannot write #{box}: Is a directory")
    end

    it "covers the command" do
      [[], ["--"], ["--quiet"]].each do |args|
        result = record(*args)
        expect([result.code, result.err]).to eq [2, "profiler: no COMMAND given (usage: profiler record [options] -- COMMAND [ARGUMENTS])\n"]
      end
    end
  end

  it "keeps the memory with --memory, and prints what grew and who has it" do
    result = record("--memory", "--out", "m.pb.gz", "--", ruby, "-e", "#{burn}; KEPT = Array.new(3_000) { 'k' * 4_000 }; burn(50)")
    expect(result.err.gsub(/\s+/, " ")).to match(/ memory: RSS [\d.]+ MiB, \+1\d[\d.]* MiB in .* \+1\d[\d.]* MiB [\d.]+ MiB malloc: main arena .* owners: String 1\d[\d.]* MiB, /)
    shown = profiler_child("memory", in_box("m.pb.gz"))
    expect(shown.out).to match(/^RSS .*^ +1[\d.]+ MiB .*  String$/m)
    expect(profiler_child("report", in_box("m.pb.gz")).out).to match(/^Memory: RSS .*^  owners: String /m)
    record("--out", "n.pb.gz", "--", ruby, "-e", "1")
    expect(profiler_child("memory", in_box("n.pb.gz"))).to have_attributes(code: 1, err: /no ledger of memory is in this profile/)
    expect(record("--memory", "--pid", "1").err).to include("--memory needs a command")
  end
end
