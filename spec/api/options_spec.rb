# frozen_string_literal: true

require "tmpdir"

# Bad input: an error that names the value and what is allowed; the app's own result unchanged; nothing
# half-written left behind.
RSpec.describe "Options of Profiler.run" do
  include_context "with a program"

  def message(code) = run_json("print_json(error { #{code} })")

  {
    "mode: :walll" => "ArgumentError: mode: :walll is not a mode (allowed: :cpu, :wall, :allocations, :heap, :native, an Array of these)",
    "mode: []" => "ArgumentError: mode: [] is not a mode (allowed: :cpu, :wall, :allocations, :heap, :native, an Array of these)",
    "mode: 'cpu'" => 'ArgumentError: mode: "cpu" is not a mode (allowed: :cpu, :wall, :allocations, :heap, :native, an Array of these)',
    "interval: 49" => "ArgumentError: interval: 49 is not an Integer from 50 to 1000000 microseconds",
    "interval: 1_000_001" => "ArgumentError: interval: 1000001 is not an Integer from 50 to 1000000 microseconds",
    "interval: 2**80" => "ArgumentError: interval: #{2**80} is not an Integer from 50 to 1000000 microseconds",
    "interval: 1.5" => "ArgumentError: interval: 1.5 is not an Integer from 50 to 1000000 microseconds",
    "frequency: 0" => "ArgumentError: frequency: 0 is not an Integer from 1 to 20000 Hz",
    "interval: 1000, frequency: 100" => "ArgumentError: interval: and frequency: mean the same: pass only one of them",
    "mode: :allocations, every: 0" => "ArgumentError: every: 0 is not an Integer from 1 to 1000000 objects",
    "mode: :allocations, every: 1.5" => "ArgumentError: every: 1.5 is not an Integer from 1 to 1000000 objects",
    "mode: :allocations, every_bytes: 1_023" => "ArgumentError: every_bytes: 1023 is not an Integer from 1024 to 1073741824 bytes",
    "mode: :allocations, every: 1, every_bytes: 2_048" => "ArgumentError: every: and every_bytes: mean the same: pass only one of them",
    "every_bytes: 4_096" => "ArgumentError: every_bytes: 4096 applies to objects, which need mode: :allocations or :heap",
    "every: 10" => "ArgumentError: every: 10 applies to objects, which need mode: :allocations or :heap",
    "mode: :allocations, interval: 1000" => "ArgumentError: interval: 1000 applies to time, which needs mode: :cpu or :wall",
    "mode: :allocations, engine: :perf" => "ArgumentError: engine: :perf applies to time, which needs mode: :cpu or :wall",
    "depth: 5" => "ArgumentError: depth: 5 is not an Integer from 128 to 10000 frames",
    "engine: :magic" => "ArgumentError: engine: :magic is not an engine (allowed: :perf, :thread_timer, :ticker, :setitimer, :safepoint)",
    "gc: :leaf" => "ArgumentError: gc: :leaf is not allowed (allowed: :root, :ignore)",
    "timeline: 1" => "ArgumentError: timeline: 1 is not a choice (allowed: true, false)",
    "raw: :yes" => "ArgumentError: raw: :yes is not a choice (allowed: true, false)",
    "raw: true, timeline: true" => "ArgumentError: timeline: and raw: mean the same: pass only one of them",
    "metadata: 3" => "ArgumentError: metadata: 3 is not a Hash",
    "colour: 1" => /\AArgumentError: unknown keyword: :colour \(allowed: mode:, interval:, .*metadata:\)\z/,
    "'mode' => :cpu" => /\AArgumentError: unknown keyword: "mode" \(allowed: mode:, /,
    "gc: :root, ignore_gc: true" => "ArgumentError: gc: and ignore_gc: mean the same: pass only one of them",
    "mode: :allocations, ignore_gc: true" => "ArgumentError: ignore_gc: true applies to time, which needs mode: :cpu or :wall",
    "ignore_gc: 1" => "ArgumentError: ignore_gc: 1 is not a choice (allowed: true, false)",
    "fibers: 1" => "ArgumentError: fibers: 1 is not a choice (allowed: true, false)",
    "trim_path: 5" => "ArgumentError: trim_path: 5 is not true, a directory or an Array of directories",
    "trim_path: ['/a', nil]" => 'ArgumentError: trim_path: ["/a", nil] is not true, a directory or an Array of directories',
    "name: 5" => "ArgumentError: name: 5 is not a String or a Symbol",
    'out: "x.unknown"' => /\AArgumentError: .*x\.unknown.*\.pb\.gz.*\.svg/,
    'out: "x.svg", format: :jpeg' => /\AArgumentError: .*jpeg.*pprof.*svg/,
    'out: "/no/such/place/x.svg"' => "Errno::ENOENT: No such file or directory - /no/such/place/x.svg",
    'out: "/proc/x.svg"' => /\AErrno::(ENOENT|EACCES|EPERM): .*x\.svg/
  }.each do |options, expected|
    it "refuses #{options}, before the block runs" do
      ran = message("Profiler.run(#{options}) { abort 'the block ran' }")
      expect(ran).to expected.is_a?(Regexp) ? match(expected) : eq(expected)
    end
  end

  it "accept every documented value" do
    ["mode: [:cpu]", "interval: 50", "interval: 1_000_000", "frequency: 20_000", "depth: 10_000", "engine: :safepoint",
     "metadata: { 'commit' => 'abc' }", "name: 'import'", "name: :import", "gc: :root", "ignore_gc: true", "gc: :root, ignore_gc: false", "mode: :allocations, ignore_gc: false", "trim_path: ['/a', '~']", "timeline: true", "raw: false", "timeline: nil",
     "mode: :allocations", "mode: :object, every: 1_000_000", "mode: %i[cpu allocations], interval: 50, every: 1"].each do |options|
      expect(message("Profiler.run(#{options}) { }")).to eq("none"), options
    end
  end

  it "are kept in their errors, with the value and what is allowed, for interfaces that spell them in another way" do
    faults = {
      "mode: :walll" => ["mode", "walll", %w[cpu wall allocations heap native],
                         "--mode walll is not a mode (allowed: cpu, wall, allocations, heap, native, or several separated by commas)"],
      "mode: %i[cpu x]" => ["mode", "cpu,x", %w[cpu wall allocations heap native],
                            "--mode cpu,x is not a mode (allowed: cpu, wall, allocations, heap, native, or several separated by commas)"],
      "interval: '5'" => ["interval", '"5"', [], '--interval "5" is not an Integer from 50 to 1000000 microseconds'],
      "max_overhead: 2" => ["max_overhead", "2", [], "--max-overhead 2 is not a share from 0.0001 to 0.5"],
      "interval: 1000, frequency: 100" => ["interval", nil, [], "--interval and --frequency mean the same: pass only one of them"],
      "every_bytes: 4_096" => ["every_bytes", "4096", %w[allocations heap], "--every-bytes 4096 applies to objects, which need --mode allocations or heap"],
      "mode: :heap, max_overhead: 0.01" => ["max_overhead", "0.01", %w[cpu wall],
                                            "--max-overhead 0.01 cannot be kept where live objects are tracked (allowed: --mode cpu, wall)"],
      "engine: :steam" => ["engine", "steam", %w[perf thread_timer ticker setitimer safepoint],
                           "--engine steam is not an engine (allowed: perf, thread_timer, ticker, setitimer, safepoint)"],
      "trim_path: \"\\0\"" => ["trim_path", '"\\u0000"', [], '--trim-path "\\u0000" is not true, a directory or an Array of directories'],
      "gc: 7" => ["gc", "7", %w[root ignore], "--gc 7 is not allowed (allowed: root, ignore)"]
    }
    found = run_json(<<~RUBY)
      print_json([#{faults.keys.map { |options| "-> { Profiler.run(#{options}) { } }" }.join(", ")}].map do |block|
        block.call
      rescue ArgumentError => e
        fault = Profiler.const_get(:OptionFault).of(e)
        again = Profiler.const_get(:OptionFault).parse(JSON.parse(JSON.generate(fault.to_a)))
        [fault.name, fault.value, fault.allowed, again.on_command_line]
      end)
    RUBY
    expect(faults.keys.zip(found).to_h).to eq(faults)
    expect(run_json(<<~RUBY)).to eq([nil] * 6 + [nil])
      damaged = [nil, 7, {}, ["mode"], ["mode", 5, []], ["mode", nil, [["text"]]]]
      print_json(damaged.map { |it| Profiler.const_get(:OptionFault).parse(it) } << Profiler.const_get(:OptionFault).of(ArgumentError.new("x")))
    RUBY
  end

  it "set the name of a profile, in each format that has a place for one" do
    named, *metadata = run_json(<<~RUBY)
      require "zlib"
      profile = Profiler.run(timeline: true, name: "nightly import") { 300_000.times { |it| it.to_s } }
      named = Profiler.const_get(:Native).formats.map(&:first).select do |format|
        written = profile.dump(format).b
        written = Zlib.gunzip(written) if written.unpack("C2") == [0x1f, 0x8b]
        written.include?("nightly import")
      end
      print_json([named, profile.meta[:metadata], profile.merge(profile).meta[:metadata]])
    RUBY
    expect(named).to eq(%w[pprof html svg speedscope firefox callgrind stackprof markdown json text])
    expect(metadata).to eq([{ name: "nightly import" }] * 2)
  end

  it "accept text of any encoding" do
    expect(run_json(<<~'RUBY')).to match(metadata: { name: "caf\u00E9", "\uFFFD": "\uFFFD" }, refused: [/\AArgumentError/] * 2, label: "caf\u00E9")
      profile = Profiler.run(name: "caf\xE9".dup.force_encoding("ISO-8859-1"), metadata: { "\xFF" => "\xFE" }, trim_path: "/\xFF") { }
      refused = [error { Profiler.run(threads: "\xFF".b.to_sym) { } }, error { Profiler.run("\xFF".b.to_sym => 1) { } }].map { |it| it.scrub }
      print_json(metadata: profile.meta[:metadata], refused: refused,
                 label: Profiler.label(a: "caf\xE9".dup.force_encoding("ISO-8859-1")) { Profiler.labels[:a] })
    RUBY
  end

  it "require a block" do
    expect(message("Profiler.run")).to eq("ArgumentError: no block given")
  end

  describe "out:" do
    around { |example| Dir.mktmpdir { |directory| Dir.chdir(directory) { example.run } } }

    it "replaces the file atomically, readable only by its owner" do
      File.write("cpu.svg", "old")
      run("Profiler.run(out: 'cpu.svg') { 100_000.times { |it| it.to_s } }", chdir: Dir.pwd)
      expect(File.read("cpu.svg")).to include("<svg")
      expect(File.stat("cpu.svg").mode & 0o777).to eq(0o600)
      expect(Dir.children(".")).to eq(["cpu.svg"])
    end

    it "is written below a directory whose name is not text in the locale's encoding" do
      ["d\u00E9", "d\xFF".b].each do |directory|
        Dir.mkdir(directory)
        code = %q(require "profiler"; Profiler.run(out: "a.svg", trim_path: true) { }; Profiler.run(out: "e\u00E9.svg".encode("ISO-8859-1")) { })
        [{ "LANG" => "C", "LC_ALL" => "C" }, { "RUBYOPT" => "-E ISO-8859-1" }].each do |env|
          result = ruby_child("-e", code, chdir: File.join(Dir.pwd, directory), env: env)
          expect(result.status).to be_success, result.err
          expect(Dir.children(directory).size).to eq(2)
        end
        expect(profiler_child("record", "-o", "r.svg", "--", "ruby", "-e", "p 1", chdir: File.join(Dir.pwd, directory),
                              env: { "LC_ALL" => "C" }).out).to eq("1\n")
      end
    end

    it "is written when the block raises, and the exception propagates" do
      code = "print_json(error { Profiler.run(out: 'cpu.folded') { 1_000_000.times { |it| it.to_s }; raise IOError, 'mine' } })"
      expect(run_json(code, chdir: Dir.pwd)).to eq("IOError: mine")
      expect(File.read("cpu.folded")).to include("Integer#to_s").or include("Integer#times")
    end

    it "is written when the block is left by throw" do
      code = "print_json(catch(:out) { Profiler.run(out: 'cpu.folded') { 100_000.times { |it| it.to_s }; throw :out, 5 } })"
      expect(run_json(code, chdir: Dir.pwd)).to eq(5)
      expect(Dir.children(".")).to eq(["cpu.folded"])
    end

    it "leaves no partial file when the disk is full" do
      expect(run_json(<<~RUBY, chdir: Dir.pwd)).to start_with("Errno::EFBIG: ")
        trap("XFSZ", "IGNORE")
        Process.setrlimit(:FSIZE, 100)
        refused = error { Profiler.run(out: "cpu.svg") { :done } }
        print_json(refused)
      RUBY
      expect(Dir.children(".")).to be_empty
    end

    it "is refused, and leaves nothing behind, if it is larger than the process may write" do
      refused = run_json(<<~RUBY, chdir: Dir.pwd)
        profile = Profiler.run { burn }
        Process.setrlimit(:FSIZE, 4_000)
        print_json([{}, { source: true }].map { |options| error { profile.save("cpu.html", **options) } })
      RUBY
      expect(refused).to eq(["Errno::EFBIG: File too large - #{Dir.pwd}/cpu.html"] * 2)
      expect(Dir.children(".")).to be_empty
    end

    it "is packed as its name says, even a page with sources" do
      begins = run(<<~RUBY, chdir: Dir.pwd)
        Profiler.run { burn }.save("cpu.html.gz", source: true)
        print IO.popen(%w[zcat cpu.html.gz], &:read)[0, 15]
      RUBY
      expect(begins).to eq "<!DOCTYPE html>"
    end

    it "writes the file even if the process ends inside the block, and a forked child's with its pid" do
      %w[exit exit!].each do |ending|
        pid = run_json(<<~RUBY, chdir: Dir.pwd)
          Profiler.run(out: 'cpu.folded') do
            pid = fork
            next print_json(Process.wait2(pid)[0]) if pid
            burn(50)
            #{ending}
          end
        RUBY
        expect(Dir.children(".")).to contain_exactly("cpu.folded", "cpu.#{pid}.folded")
        expect(File.read("cpu.#{pid}.folded")).to include("Object#burn")
        FileUtils.rm(Dir.glob("cpu*"))
      end
    end

    it "names the file in errors about what cannot be loaded" do
      run("Profiler.run(out: 'good.pb.gz') { 100_000.times { |it| it.to_s } }", chdir: Dir.pwd)
      good = File.binread("good.pb.gz")
      File.binwrite("cut.pb.gz", good[0, good.size / 2])
      File.binwrite("text.pb.gz", "hello")
      File.binwrite("empty.pb.gz", "")
      output = run_json("print_json(%w[cut text empty missing].map { |it| error { Profiler::Profile.load(it + '.pb.gz') } })", chdir: Dir.pwd)
      expect(output).to match([/\AProfiler::FormatError: cut\.pb\.gz: .*(ends|cut|truncated)/, /\AProfiler::FormatError: text\.pb\.gz: .*not a profile/,
                             /\AProfiler::FormatError: empty\.pb\.gz: /, /\AErrno::ENOENT: .*missing\.pb\.gz/])
    end
  end
end
