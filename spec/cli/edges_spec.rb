# frozen_string_literal: true

require "fileutils"
require "json"
require "shellwords"

# Unusual names, places, limits and ends: one line says what is wrong, and nothing is lost.
RSpec.describe "The command profiler, at its edges" do
  include_context "with a box"

  let(:ruby) { RbConfig.ruby }
  let(:shop) { File.expand_path("../fixtures/shop.pb.gz", __dir__) }

  def profiler(*arguments, **options, &block) = profiler_child(*arguments.map(&:to_s), chdir: box, **options, &block)

  # A command line of a shell, in which $P is the command.
  def shell(line, env: {}) = command_child("sh", "-c", line, env: { "P" => [ruby, Child::EXE].shelljoin }.merge(env), chdir: box)

  it "reads a file whose name is not text" do
    path = "#{box}/\xff.pb.gz".b
    File.binwrite(path, File.binread(shop))
    result = shell('exec $P report "$(printf "\377.pb.gz")"')
    expect(result).to have_attributes(err: "", code: 0, out: include("Shop::Order#save"))
    missing = shell('exec $P report "$(printf "\376.pb.gz")"')
    expect(missing).to have_attributes(code: 1, err: "profiler: cannot read ?.pb.gz: No such file or directory\n")
  end

  it "treats a tilde as part of a name if it stands for no home directory" do
    nobody = "~nobody-has-this-name"
    FileUtils.cp(shop, "#{box}/#{nobody}.pb.gz")
    expect(profiler("report", "#{nobody}.pb.gz")).to have_attributes(err: "", code: 0)
    expect(profiler("convert", "#{nobody}.pb.gz", "#{nobody}.svg")).to have_attributes(err: "", code: 0)
    expect(profiler("record", "-q", "-o", "#{nobody}.folded", "--", ruby, "-e", "1")).to have_attributes(err: "", code: 0)
    expect(files).to eq(%w[.folded .pb.gz .svg].map { |ending| "#{nobody}#{ending}" })
    relative = profiler("record", "-q", "-o", "~/a.folded", "--", ruby, "-e", "1", env: { "HOME" => "home" })
    expect(relative).to have_attributes(code: 1, err: "profiler: cannot write #{box}/~/a.folded: No such file or directory\n")
    listed = profiler("ps", env: { "PROFILER_CONTROL" => "#{nobody}/control" })
    # Other processes of this user may have sockets where these are by default.
    expect(listed).to have_attributes(code: 0, err: eq("").or(match(/\Aprofiler: no process with a control socket was found/)))
    code = "require 'profiler'; puts Profiler.control(directory: '#{nobody}/control').path"
    expect(ruby_child("-e", code, chdir: box).out).to start_with("#{box}/#{nobody}/control/")
  end

  it "says which command misses another one, and does not believe a terminal of any width" do
    { "stat" => "stat [options] -- COMMAND [ARGUMENTS]", "boot" => "boot [options] -- COMMAND [ARGUMENTS]" }.each do |command, usage|
      expect(profiler(command)).to have_attributes(code: 2, err: "profiler: no COMMAND given (usage: profiler #{usage})\n")
      expect(profiler(command, "--interval", "", "--", "true").err).to end_with("is empty (see profiler #{command} --help)\n")
    end
    expect(profiler("record", "--", "")).to have_attributes(code: 127, err: "profiler: cannot run \"\": command not found\n")
    expect(profiler("report", shop, env: { "COLUMNS" => "9" * 30 })).to have_attributes(code: 0, err: "")
  end

  it "says that the working directory was removed" do
    %w[record\ --\ true report view merge].each do |command|
      result = shell("mkdir gone; cd gone; rmdir ../gone; exec $P #{command}")
      expect(result.code).to be_between(1, 2)
      expect(result.err.lines.size).to eq(1), result.err
    end
    expect(shell("mkdir gone; cd gone; rmdir ../gone; exec $P record -- true").err).to eq("profiler: the working directory was removed\n")
  end

  it "says that it cannot write to stdout" do
    expect(shell("exec $P report #{shop.shellescape} > /dev/full")).to have_attributes(code: 1, err: "profiler: cannot write to stdout: No space left on device\n")
  end

  it "prints nothing that a terminal obeys of a name that it quotes" do
    result = profiler("report", "\e[2J\u202e\u009b1m.pb.gz")
    expect(result).to have_attributes(code: 1, err: "profiler: cannot read ?[2J??1m.pb.gz: No such file or directory\n")
  end

  it "names the value of an option that is none, however it is passed" do
    [["--session", "abc"], ["--session=abc"]].each do |option|
      expect(profiler("stop", *option, "1")).to have_attributes(code: 2, err: "profiler: --session cannot be \"abc\"; see profiler stop --help\n")
    end
  end

  it "takes the name of a sample type for text, whatever its bytes" do
    { "tree" => [shop], "report" => [shop], "diff" => [shop, shop] }.each do |command, paths|
      expect(profiler(command, "--type=\xff", *paths)).to have_attributes(code: 1, err: /\Aprofiler: .*(has|is) no .*\uFFFD.*\n\z/)
    end
  end

  it "reads no more of a ledger than any has, as of a device without an end" do
    ["--since=/dev/zero", "--since=/dev/full"].each do |option|
      expect(profiler("memory", option, "1")).to have_attributes(code: 1, err: %r{\Aprofiler: /dev/\w+: too large to read: it has more than 256 MiB\n\z})
    end
  end

  it "takes a limit of any size for all" do
    all = profiler("report", shop, "--limit", 0).out
    expect(profiler("report", shop, "--limit", 99_999_999_999_999_999_999)).to have_attributes(err: "", code: 0, out: all)
  end

  it "writes its answer to a file that the command cannot write into" do
    result = profiler("stat", "--json", "--output", "stat.json", "--", ruby, "-e", "warn 7; puts 8")
    expect(result).to have_attributes(code: 0, out: "8\n", err: "7\n")
    expect(JSON.parse(File.read("#{box}/stat.json"))).to include("real_ns", "findings")
    expect(profiler("stat", "--output", "/dev/full", "--", ruby, "-e", "exit 3")).to have_attributes(code: 3, err: "profiler: cannot write /dev/full: No space left on device\n")
    expect(profiler("stat", "--output", "no/such/file", "--", ruby, "-e", "puts 8")).to have_attributes(code: 1, out: "", err: "profiler: cannot write no/such/file: No such file or directory\n")
  end

  it "keeps a comma in a label" do
    profiler("record", "-q", "-o", "a.pb.gz", "--label", 'list=a,b=c\\,d', "--label", "x=y", "--", ruby, "-e", "#{burn}; burn(100)")
    expect(profiler("report", "a.pb.gz", "--by", "list").out).to include('a,b=c\\,d')
    expect(profiler("report", "a.pb.gz", "--by", "x").out).to match(/100.0% +y /)
  end

  it "says that Ruby ran no program" do
    { "-c" => ["-c", "/dev/null"], "--version" => ["--version"], "-v" => ["-v"], "--help" => ["-w", "--help"] }.each do |option, arguments|
      expect(profiler("record", "--", ruby, *arguments).err.lines.last).to eq("profiler: no profile was written: #{ruby} #{option} runs no program\n")
    end
  end

  it "says that an option keeps Ruby from loading the profiler" do
    { "--disable=all" => %w[--disable=all], "--disable-rubyopt" => %w[-w --disable-rubyopt], "--disable=gems,al" => %w[--disable gems,al] }.each do |option, arguments|
      result = profiler("record", "--", ruby, *arguments, "-e", "puts 7")
      expect(result).to have_attributes(code: 0, out: "7\n", err: "profiler: no profile was written: #{ruby} #{option} does not load the profiler, because it ignores RUBYOPT\n")
    end
    expect(profiler("record", "--", ruby, "--disable=gems", "-e", "puts 7").err).to include("wrote profile-")
  end

  it "says in one sentence that a file is larger than a process may write (ulimit -f), and leaves none" do
    program = "eval((1..400).map { |i| \"def m\#{i} = 2_000.times {}\" }.join(10.chr)); 3.times { (1..400).each { |i| send(\"m\#{i}\") } }; puts 8"
    File.write("#{box}/a.rb", program)
    record = shell("ulimit -f 8; exec $P record -q -o a.svg -- #{ruby.shellescape} a.rb")
    expect(record.err).to match(/\Aprofiler: no temporary directory is writable \(.*File too large.*\)\n\z/)
    record = shell("ulimit -f 260; exec $P record -q -o a.html -- #{ruby.shellescape} a.rb")
    expect(record).to have_attributes(code: 0, out: "8\n", err: /\A\[profiler\] the profile was not written to \S+: File too large\n/)
    expect(record.err.lines.size).to eq(2), record.err
    page = shell("ulimit -f 8; exec $P diff #{shop.shellescape} #{shop.shellescape} -o a.html")
    expect(page).to have_attributes(code: 1, err: "profiler: cannot write a.html: File too large\n")
    expect(files).to eq(%w[a.rb])
    inherited = "ulimit -f 300; exec $P stat -- #{ruby.shellescape} -e 'p File.read(%(/proc/self/status))[/^SigIgn:\\s+(\\h+)/, 1].hex[24]; File.write(%(b), %(x) * 200_000)'"
    expect(shell(inherited)).to have_attributes(code: 128 + Signal.list["XFSZ"], out: "0\n")
    expect(shell("trap '' XFSZ; #{inherited}")).to have_attributes(code: 1, out: "1\n")
  end

  it "writes the profile of a program that gets a signal twice, as from timeout" do
    %w[INT TERM].each do |signal|
      program = "File.write('ready.#{signal}', ''); loop { 1_000.times { |i| i.to_s } }"
      result = profiler("record", "-o", "#{signal}.pb.gz", "--", ruby, "-e", program) do |pid|
        wait_until { File.exist?("#{box}/ready.#{signal}") }
        [pid, -pid].each { |it| Process.kill(signal, it) }
      end
      expect(files).to include("#{signal}.pb.gz"), result.err
    end
  end

  it "prints a tree of any depth and width as JSON" do
    { "deep" => "#{(0...20_000).map { |i| "f#{i % 7}" }.join(";")} 5\n", "wide" => (0...150_000).map { |i| "main;f#{i} 1\n" }.join }.each do |name, text|
      File.write("#{box}/#{name}.folded", text)
      result = profiler("tree", "--json", "#{name}.folded")
      expect(result).to have_attributes(code: 0, err: "")
      tree = JSON.parse(result.out, max_nesting: 0)["tree"]
      expect([tree.size, tree.first["total"], tree.first["children"].size]).to eq(name == "deep" ? [1, 5, 1] : [1, 150_000, 150_000])
    end
    code = 'tree = Profiler::Profile.load(ARGV.first).tree; GC.start; p tree.size'
    %w[deep wide].each { |name| expect(ruby_child("-rprofiler", "-e", code, "#{box}/#{name}.folded").out).to eq("1\n") }
  end

  it "records when the system refuses to lock files" do
    refusing = Preloaded.env("refused_calls").merge("REFUSED_CALLS" => "locks")
    expect(ruby_child("-e", "File.open('/dev/null').flock(File::LOCK_EX)", env: refusing).err).to include("Operation not permitted")
    result = profiler("record", "-o", "a.pb.gz", "--", ruby, "-e", "#{burn}; burn(50); puts 7", env: refusing)
    expect(result).to have_attributes(code: 0, out: "7\n", err: /\[profiler\] wrote a\.pb\.gz \(/)
  end

  it "draws stacks of any depth in a picture of bounded size" do
    File.write("#{box}/deep.folded", "#{(0...20_000).map { |i| "f#{i % 7}" }.join(";")} 5\n")
    %w[flame icicle reverse].each { |style| expect(profiler("convert", "deep.folded", "#{style}.svg", "--style", style)).to have_attributes(code: 0) }
    expect(files.grep(/svg/).map { |name| File.size("#{box}/#{name}") }).to all(be < 8 << 20)
  end

  it "works in directories whose names are patterns" do
    name = "a[b]*{c}?\\d"
    Dir.mkdir("#{box}/#{name}")
    code = "#{burn}; session = Profiler.continuous(out: ARGV[0], period: 60, keep: 1); 2.times { burn(60); session.flush }; session.stop"
    expect(ruby_child("-rprofiler", "-e", code, "#{box}/#{name}/kept").err).to eq("")
    expect(Dir.children("#{box}/#{name}/kept").size).to eq(1)
    expect(profiler("view", "--print", "#{name}/kept")).to have_attributes(code: 0, out: /kept\.html\n\z/)
    FileUtils.cp(shop, "#{box}/#{name}/a.pb.gz")
    expect(profiler_child("report", chdir: "#{box}/#{name}")).to have_attributes(code: 0, out: include("Shop::Order#save"))
    expect(profiler_child("record", "-o", "#{box}/#{name}/b.svg", "--", ruby, "-e", "#{burn}; burn(50)").code).to eq(0)
    expect(Dir.children("#{box}/#{name}")).to contain_exactly("kept", "a.pb.gz", "b.svg")
  end

  it "escapes in JSON what a terminal would obey" do
    File.write("#{box}/a.folded", "main;\u009B2J\u202Ex 5\n")
    %w[tree report].each do |command|
      text = profiler(command, "--json", "a.folded").out
      expect(text).not_to match(/[\u0080-\u009F\u202E]/)
      expect(JSON.parse(text).to_s).to include("x")
    end
    File.write("#{box}/\xff.folded".b, "main;a 5\n")
    expect(JSON.parse(shell('exec $P tree --json "$(printf "\377.folded")"').out)).to include("file" => "?.folded")
  end

  it "shows a directory in which files vanish, lead nowhere or are not files" do
    directory = "#{box}/a[b]{c}*"
    Dir.mkdir(directory)
    name = ->(number) { "20261122T00301#{number}.123-4711-9f86d08#{number}.pb.gz" }
    2.times { |number| File.binwrite("#{directory}/#{name[number]}", File.binread(shop)) }
    File.symlink("nowhere", "#{directory}/#{name[2]}")
    File.mkfifo("#{directory}/#{name[3]}")
    Dir.mkdir("#{directory}/#{name[4]}")
    result = profiler("view", directory, "--print", "--json")
    expect(result).to have_attributes(code: 0, err: "")
    expect(JSON.parse(result.out)).to include("periods" => 2)
  end

  it "puts its temporary files beside the profile when the system's directory is full" do
    skip "only root can mount" unless Process.uid.zero?
    Dir.mkdir("#{box}/full")
    result = shell(<<~SH, env: { "TMPDIR" => "#{box}/full" })
      mount -t tmpfs -o size=16k none full || exit 77
      dd if=/dev/zero of=full/fill bs=1k count=16 2> /dev/null
      $P record -o b.pb.gz -- ruby -e '#{burn}; burn(100)'
      status=$?
      umount full
      exit $status
    SH
    skip "nothing can be mounted here" if result.code == 77
    expect(result).to have_attributes(code: 0, err: match(/wrote b\.pb\.gz/))
    expect(files).to eq(%w[b.pb.gz full])
  end
end
