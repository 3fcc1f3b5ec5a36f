# frozen_string_literal: true

require_relative "../support/slow_disk"

RSpec.describe "Profile#save" do
  include SlowDisk
  include_context "with a box"
  include_context "with a program"

  let(:began) { in_box("began") }
  let(:shop) { File.join(Child::ROOT, "spec/fixtures/shop.pb.gz") }

  # The programs have the profile +shop+, +save+, +files+, and +began+, which waits until the disk has begun to write.
  let(:prelude) { <<~RUBY }
    require "timeout"
    shop = Profiler::Profile.load(#{shop.inspect})
    define_method(:save) { shop.save("a.pb.gz") }
    def began = (sleep 0.01 until File.exist?(#{began.inspect})).then { File.delete(#{began.inspect}) }
    def files = Dir.children(".").map { |it| it.sub(/\\.\\h{8}\\.tmp/, ".tmp") }.sort
  RUBY

  # Runs a program in a directory +out+ of the box, whose disk takes +disk+ seconds for a write.
  def program(code, disk: SlowDisk::HANGS)
    Dir.mkdir(in_box("out"))
    run_json(code, chdir: in_box("out"), env: disk ? slow_disk(disk, began: began) : {})
  end

  describe "to a path that is not a regular file" do
    it "writes to a pipe, and does not replace it" do
      expect(program(<<~RUBY, disk: nil)).to eq(type: "fifo", same: true)
        File.mkfifo("p")
        reading = Thread.new { File.read("p") }
        shop.save("p", format: :text)
        print_json(type: File.ftype("p"), same: reading.value.b == shop.dump(:text).b)
      RUBY
    end

    it "writes to a device, and does not replace it" do
      skip("only root makes devices") unless Process.uid.zero?
      expect(program(<<~RUBY, disk: nil)).to eq(type: "characterSpecial", files: ["d"])
        system("mknod", "d", "c", "1", "3") || abort
        shop.save("d", format: :text)
        Profiler.run(out: "d", format: :text) { Process.wait(fork { }) }
        print_json(type: File.ftype("d"), files: files)
      RUBY
    end

    it "follows a symbolic link, even to a file that is not there yet" do
      expect(program(<<~RUBY, disk: nil)).to eq([["link", true]] * 2)
        File.symlink("there.txt", "a.txt")
        print_json(Array.new(2) { shop.save("a.txt"); [File.lstat("a.txt").ftype, File.binread("there.txt") == shop.dump(:text).b] })
      RUBY
    end
  end

  it "lets other threads run" do
    expect(program(<<~RUBY)).to eq(during: ["a.pb.gz.tmp"], alive: true, after: [])
      saving = Thread.new { save }
      began
      during, alive = files, saving.alive?
      saving.kill.join
      print_json(during: during, alive: alive, after: files)
    RUBY
  end

  it "ends on an exception from outside, passes it on, and leaves no temporary file" do
    ends = program(<<~RUBY)
      ends = [[error { Timeout.timeout(0.2) { save } }, files]]
      began
      saver = Thread.new { error { save } }
      began
      saver.raise(ArgumentError, "from outside")
      ends << [saver.value, files]
      Thread.new { began; Process.kill(:INT, Process.pid) }
      begin
        save
      rescue Interrupt => e
        ends << [e.class.name, files]
      end
      ends << [catch(:out) { trap(:USR1) { throw :out, "thrown" }; Process.kill(:USR1, Process.pid); save; "saved" }, files]
      print_json(ends)
    RUBY
    expect(ends).to eq(["Timeout::Error: execution expired", "ArgumentError: from outside", "Interrupt", "thrown"].map { |item| [item, []] })
  end

  it "continues after a trapped signal, and while interrupts are deferred" do
    expect(program(<<~RUBY, disk: "1")).to eq(trapped: true, first: ["a.pb.gz"], mode: "600", raised: "RuntimeError: put off", both: %w[a.pb.gz b.pb.gz])
      trapped = false
      trap(:USR1) { trapped = true }
      Thread.new { began; Process.kill(:USR1, Process.pid) }
      save
      first = files
      saver = Thread.new do
        error { Thread.handle_interrupt(RuntimeError => :never) { Thread.current[:ready] = true; shop.save("b.pb.gz") } }
      end
      sleep 0.01 until saver[:ready]
      saver.raise("put off")
      raised = saver.value
      print_json(trapped: trapped, first: first, mode: (File.stat("a.pb.gz").mode & 0o777).to_s(8), raised: raised, both: files)
    RUBY
  end

  it "leaves no file of a child that another thread forks meanwhile" do
    expect(program(<<~RUBY)).to eq(status: 0, during: ["a.pb.gz.tmp"], after: [])
      saving = Thread.new { save }
      began
      status = Process.wait2(fork { }).last.exitstatus
      during = files
      saving.kill.join
      print_json(status: status, during: during, after: files)
    RUBY
  end

  it "leaves no file of a child that a trap forks meanwhile" do
    expect(program(<<~RUBY, disk: "2")).to eq(child: ["Profiler::Error: the process was forked while this was written or computed", ["a.pb.gz.tmp"]], parent: ["a.pb.gz"])
      parent = Process.pid
      reader, writer = IO.pipe
      trap(:USR1) { @child = fork }
      Thread.new { began; Process.kill(:USR1, Process.pid) }
      raised = error { save }
      unless Process.pid == parent
        writer << JSON.generate([raised, files])
        exit!
      end
      Process.wait(@child)
      writer.close
      print_json(child: JSON.parse(reader.read), parent: files)
    RUBY
  end

  it "reports a full disk, and keeps the old file" do
    raised = "Errno::ENOSPC: No space left on device - #{in_box("out")}/a.pb.gz"
    expect(program(<<~RUBY, disk: "full")).to eq(raised: raised, files: ["a.pb.gz"], text: "before")
      File.write("a.pb.gz", "before")
      print_json(raised: error { save }, files: files, text: File.read("a.pb.gz"))
    RUBY
  end

  # Runs a whole process that profiles itself.
  def app(code, disk)
    Dir.mkdir(in_box("out"))
    env = { "PROFILER_OUT" => "a.pb.gz", **slow_disk(disk, began: began) }
    ruby_child("-rprofiler/autoload", "-e", code, chdir: in_box("out"), env: env)
  end

  it "does not delay exit! beyond its deadline" do
    result = app("exit!(7)", SlowDisk::HANGS)
    expect([result.code, Dir.children(in_box("out"))]).to eq [7, []]
    expect(result.err).to eq "[profiler] the profile was not written to #{in_box("out/a.pb.gz")}: it took longer than 5 s\n"
  end

  it "can be interrupted at the end of a process" do
    result = app("parent = Process.pid; Thread.new { sleep 0.01 until File.exist?(#{began.inspect}); Process.kill(:TERM, parent) }", SlowDisk::HANGS)
    expect([result.code, Dir.children(in_box("out"))]).to eq [143, []]
  end
end
