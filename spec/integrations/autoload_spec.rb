# frozen_string_literal: true

RSpec.describe "ruby -rprofiler/autoload" do
  include_context "with a box"

  # @param env [Hash] names without PROFILER_, as symbols
  def app(code, options: [], env: {}, lib: Child::LIB, **settings)
    settings = { OUT: "a.svg" }.merge(settings).to_h { |name, value| ["PROFILER_#{name}", value] }
    command_child(RbConfig.ruby, "-I", lib, *options, "-rprofiler/autoload", "-e", code, env: settings.merge(env), chdir: box)
  end

  let(:summary) { /\A\[profiler\] cpu \d+\.\d\d s, \d+ threads?, \d+ samples? \(\d+ dropped\), overhead \d+\.\d+% of (?:the CPU time|one core) -> / }

  it "profiles the whole process, the app's own at_exit included" do
    result = app("#{burn}; def late = burn(100); at_exit { late }; Thread.new { burn(50) }.join; puts 1", OUT: "a.pb.gz")
    expect([result.code, result.out]).to eq [0, "1\n"]
    expect(result.err).to match(/#{summary}a\.pb\.gz\n\z/)
    expect(result.err).to include "2 threads"
    expect(functions("a.pb.gz")).to include("Object#burn", "Object#late")
    expect(File.stat(in_box("a.pb.gz")).mode & 0o777).to eq 0o600
  end

  it "puts the pid into the default file name" do
    result = app("puts $$", OUT: nil)
    expect(files).to match [/\Aprofile-\d{8}-\d{6}\.#{result.out.chomp}\.pb\.gz\z/]
  end

  it "takes its options from the environment" do
    app("1", OUT: "a.pb.gz\nb.data\n", INTERVAL: "2000", MODE: "cpu", DEPTH: "128", ENGINE: "safepoint", FORMAT: "pprof")
    expect(files).to eq %w[a.pb.gz b.data]
    expect(report("b.data")).to include(stats: include(interval_ns: 2_000_000), meta: include(engine: "safepoint"))
    app("1", OUT: "c.pb.gz", FREQUENCY: "100", INTERVAL: "")
    expect(report("c.pb.gz")).to include(stats: include(interval_ns: 10_000_000))
  end

  it "writes the default file if PROFILER_OUT names none" do
    result = ruby_child("-rprofiler/autoload", "-e", "#{burn};burn(30)", chdir: box, env: { "PROFILER_OUT" => "\n\n" })
    expect(result.err).to include(" -> profile-")
    expect(files).to match([/\Aprofile-.*\.pb\.gz\z/])
  end

  it "prints nothing with PROFILER_QUIET" do
    expect(app("1", QUIET: "1").err).to eq ""
    expect(app("1", QUIET: "0").err).to match(/\A\[profiler\] .* -> a\.svg\n\z/)
    expect(files).to eq ["a.svg"]
  end

  it "names the variable whose bytes are not text, and does not disturb the app" do
    names = File.read(File.join(Child::LIB, "profiler/autoload/settings.rb")).scan(/^ +[A-Z_]+ = "(PROFILER_[A-Z_]+)"/).flatten
    expect(names.size).to be > 25
    flags = %w[TIMELINE FIBERS START_PAUSED CONTINUOUS FLIGHT QUIET].map { |name| "PROFILER_#{name}" }
    paths = %w[OUT TRIM_PATH FLIGHT_OUT CONTROL CLAIMS].map { |name| "PROFILER_#{name}" }
    needed = { "PROFILER_DUMP_SIGNAL" => :CONTROL, "PROFILER_TO" => :CONTINUOUS, "PROFILER_PERIOD" => :CONTINUOUS, "PROFILER_KEEP" => :CONTINUOUS, "PROFILER_MINUTES" => :FLIGHT }
    names.each do |name|
      with = needed[name] ? { needed[name] => name == "PROFILER_DUMP_SIGNAL" ? in_box("control") : "1" } : {}
      result = app("puts 7", OUT: nil, **with, env: { name => "a\xFF", "LC_ALL" => "C.UTF-8" })
      expect(result).to have_attributes(code: 0, out: "7\n"), "#{name}: #{result}"
      next if flags.include?(name) || paths.include?(name) || name.match?(/OWNER|EXECS/) # on, paths that are bytes, and our own

      expect(result.err).to eq("[profiler] this process is not profiled: #{name}: \"a\\xFF\" is not text in UTF-8\n")
    end
    session = ruby_child("-rprofiler", "-e", "Profiler.run {} rescue puts $!.message", env: { "PROFILER_ENGINE" => "a\xFF" })
    expect(session.out).to match(/\APROFILER_ENGINE="a\\xFF" is not an engine \(allowed: .*\)\n\z/)
  end

  it "writes to the path as it was resolved at the start" do
    result = app("Dir.mkdir('sub'); Dir.chdir('sub')")
    expect([result.err, files, Dir.children(in_box("sub"))]).to match [/-> a\.svg$/, %w[a.svg sub], []]
    app("1", OUT: "sub/b c.svg")
    expect(Dir.children(in_box("sub"))).to eq ["b c.svg"]
  end

  it "does not load optparse" do
    expect(app("puts $LOADED_FEATURES.grep(/optparse/)").out).to eq ""
  end

  it "is not ended by the app's own Profiler.stop" do
    result = app("require 'profiler'; begin; Profiler.stop; rescue Profiler::NotRunning; puts :none; end")
    expect([result.code, result.out, files]).to eq [0, "none\n", ["a.svg"]]
  end

  describe "the end of the process" do
    def end_with(code, status)
      result = app(code)
      expect([code, result.code, files]).to eq [code, status, ["a.svg"]]
      expect(result.err.scan("[profiler]").size).to eq 1
      File.delete(in_box("a.svg"))
      result
    end

    it "keeps its status, and the profile is written" do
      end_with("exit 7", 7)
      end_with("exit false", 1)
      expect(end_with("abort 'words'", 1).err).to include "words\n"
      expect(end_with("raise 'trouble'", 1).err).to include "trouble (RuntimeError)"
      expect(end_with("throw :nothing", 1).err).to include "UncaughtThrowError"
      end_with("at_exit { exit 9 }", 9)
      end_with("at_exit { raise 'late' }", 1)
      end_with("Thread.new { sleep }; Thread.new { exit 3 }; sleep", 3)
    end

    it "keeps the status of a signal" do
      end_with("Process.kill(:TERM, $$); sleep", 143)
      end_with("Process.kill(:INT, $$); sleep", 130)
      end_with("trap(:TERM) { exit 4 }; Process.kill(:TERM, $$); sleep", 4)
    end

    it "is unchanged when stderr is closed" do
      expect(app("$stderr.close; exit 2").code).to eq 2
      expect(app("STDERR.reopen(IO.pipe.tap { |r, _w| r.close }.last); exit 2").code).to eq 2
      expect(app("$stderr = Object.new.tap { |it| def it.write(*) = raise }; exit 2").code).to eq 2
      expect(files).to eq ["a.svg"]
    end

    it "writes the file on exit!, and SIGKILL leaves no partial file" do
      %w[exit!(5) Process.exit!(5) Kernel.exit!(5)].each do |exit|
        result = app(exit)
        expect([result.code, result.err.lines.size, files]).to eq [5, 1, ["a.svg"]]
        File.delete(in_box("a.svg"))
      end
      expect([app("Process.kill(:KILL, $$); sleep").code, files]).to eq [137, []]
    end

    it "calls no == that the app redefined for numbers" do
      result = app("class Integer; alias same ==; def ==(other) = (STDOUT.write('!'); same(other)); end; STDOUT.write('end')", OUT: "a.pb.gz")
      expect([result.code, result.out, files]).to eq [0, "end", ["a.pb.gz"]]
    end

    it "calls no method_missing that the app defined for all objects" do
      result = app("$VERBOSE = nil; class Object; def method_missing(name, *) = STDOUT.puts(name); end", OUT: "a.pb.gz")
      expect([result.code, result.out, files]).to eq [0, "", ["a.pb.gz"]]
    end

    # FakeFS does so for all that follows.
    it "writes real files if the app has put other classes in the place of File and Dir" do
      result = app(<<~RUBY, OUT: "a.pb.gz")
        [:File, :Dir].each do |name|
          Object.send(:remove_const, name)
          Object.const_set(name, Class.new { def self.method_missing(name, *) = raise(IOError, "not real: \#{name}") })
        end
        Process.wait(fork { })
      RUBY
      expect([result.code, result.err.lines.grep_v(/-> a/)]).to eq [0, []]
      expect(files).to match [/\Aa\.\d+\.pb\.gz\z/, "a.pb.gz"]
    end

    it "uses the settings of the start, even if the environment has changed" do
      result = app("ENV.clear", OUT: "a.data", FORMAT: "pprof", QUIET: "1")
      expect([result.code, result.err, files]).to eq [0, "", ["a.data"]]
    end

    it "writes the file even if the working directory was removed" do
      command = [RbConfig.ruby, "-I", Child::LIB, "-rprofiler/autoload", "-e", "puts 1"]
      result = command_child("sh", "-c", 'mkdir gone; cd gone; rmdir ../gone; exec "$@"', "sh", *command, env: { "PROFILER_OUT" => in_box("a.pb.gz") }, chdir: box)
      expect([result.code, result.out, files]).to eq [0, "1\n", ["a.pb.gz"]]
    end

    it "reports a directory that was removed" do
      Dir.mkdir(in_box("sub"))
      result = app("Dir.rmdir('sub'); puts 1; exit 8", OUT: "sub/a.svg\nb.svg")
      expect([result.code, result.out, files]).to eq [8, "1\n", ["b.svg"]]
      expect(result.err.lines).to match [
        "[profiler] the profile was not written to #{in_box("sub/a.svg")}: No such file or directory\n", /-> b\.svg$/
      ]
    end
  end

  describe "an error" do
    def warn_and_run(saying, **settings)
      result = app("puts :ran; exit 6", **settings)
      expect(result.err).to match(/\A\[profiler\] this process is not profiled: [^\n]+\n\z/).and include(*saying)
      expect([result.code, result.out, files]).to eq [6, "ran\n", []]
    end

    it "about a variable is one line, and the app runs" do
      warn_and_run(["speed", ":cpu"], MODE: "speed")
      warn_and_run(["\"often\"", "50"], INTERVAL: "often")
      warn_and_run(["1000001", "1000000"], INTERVAL: "1000001")
      warn_and_run("frequency", INTERVAL: "100", FREQUENCY: "100")
      warn_and_run("steam", ENGINE: "steam")
      warn_and_run("128", DEPTH: "1")
      warn_and_run("jpeg", FORMAT: "jpeg")
      warn_and_run(["a.jpeg", ".svg"], OUT: "a.jpeg")
      warn_and_run("a.jpeg", OUT: "a.svg\na.jpeg")
    end

    it "about the path is one line, even with PROFILER_QUIET" do
      warn_and_run("cannot write #{in_box("none/a.svg")}: No such file or directory", OUT: "none/a.svg", QUIET: "1")
      warn_and_run("cannot write #{box}: Is a directory", OUT: ".", FORMAT: "svg")
    end

    it "about the Ruby is one line" do
      warn_and_run("fastruby is not CRuby", options: ["-W0", "-r#{Child::ROOT}/spec/programs/refusals/other_engine"])
    end

    it "about the extension is one line" do
      Dir.mktmpdir("no extension") do |lib|
        FileUtils.cp_r("#{Child::LIB}/.", lib)
        Dir.glob("#{lib}/profiler/profiler.{so,bundle}") { |file| File.delete(file) }
        warn_and_run("profiler/profiler", lib: lib)
      end
    end

    it "about a foreign SIGPROF handler is one line" do
      Dir.mktmpdir do |elsewhere|
        path = File.join(elsewhere, "other_profiler.rb")
        File.write(path, "trap('PROF') { 1 }")
        warn_and_run("SIGPROF", options: ["-r#{path}"])
      end
    end
  end

  describe "other processes" do
    let(:everywhere) { { "RUBYOPT" => "-rprofiler/autoload", "RUBYLIB" => Child::LIB } }

    it "write a file with their pid, when they are a new Ruby" do
      code = "pid = spawn(RbConfig.ruby, '-e', '1'); Process.wait(pid); puts pid"
      result = app(code, OUT: "a.pb.gz", env: everywhere)
      expect(files).to eq ["a.#{result.out.chomp}.pb.gz", "a.pb.gz"]
    end

    it "keep the name after exec" do
      result = app("ENV['TURN'] ? puts(2) : (ENV['TURN'] = '1'; exec(RbConfig.ruby, '-e', 'puts 2'))",
                   env: everywhere)
      expect([result.code, result.out, files]).to match [0, "2\n", include("a.svg")]
      expect(files - ["a.svg"]).to all(match(/\Aa\.\d+\.0\.svg\z/))
    end

    it "write their own files silently when they were forked" do
      result = app("pid = fork { at_exit { puts 1 }; exit 3 }; Process.wait(pid); puts $?.exitstatus; puts Dir.children('.') == [\"a.\#{pid}.svg\"]")
      expect(result.out.lines(chomp: true)).to eq %w[1 3 true]
      expect(files).to match [/\Aa\.\d+\.svg\z/, "a.svg"]
      expect(result.err.scan("[profiler]").size).to eq 1
    end

    it "do not touch the parent's file when they outlive it" do
      result = app("fork { sleep 0.01 until File.exist?('a.svg'); File.write('seen', File.read('a.svg')); exit }", OUT: "a.svg")
      wait_until { File.exist?(in_box("seen")) && File.read(in_box("seen")).end_with?("</svg>\n", "</svg>") }
      sleep 0.3 # its at_exit would be now
      expect([result.code, files]).to match [0, [/\Aa\.\d+\.svg\z/, "a.svg", "seen"]]
      expect(File.read(in_box("a.svg"))).to eq File.read(in_box("seen"))
    end

    it "survive daemon and exec of something else" do
      expect(app("Process.daemon(true); File.write('ran', '1')").code).to eq 0
      wait_until { File.exist?(in_box("ran")) && files.size == 3 && files.grep(/\.tmp\z/).empty? }
      expect(files).to match [/\Aa\.\d+\.svg\z/, "a.svg", "ran"]
      result = app("exec 'sh', '-c', 'exit 4'", OUT: "b.svg")
      expect([result.code, result.err]).to eq [4, ""]
      result = app("20_000.times { |it| it.to_s while it % 50 == 51; it.to_s * 50 }; begin; exec 'nobody'; rescue SystemCallError; puts Dir['c.*']; end", OUT: "c.svg")
      expect([result.code, result.out, files.grep(/\Ac/)]).to eq [0, "", ["c.svg"]]
    end
  end
end
