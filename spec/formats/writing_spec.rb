# frozen_string_literal: true

require_relative "../support/slow_disk"

RSpec.describe "Profile#save" do
  include SlowDisk
  include_context "with a box"

  let(:began) { in_box("began") }
  let(:shop) { File.join(Child::ROOT, "spec/fixtures/shop.pb.gz") }

  # Runs a program in a directory +out+ of the box, whose disk takes so many seconds for a write. It has the profile +shop+,
  # +save+ and +began+, which waits until the disk has begun to write.
  def program(code, disk: SlowDisk::HANGS, **options)
    Dir.mkdir(in_box("out")) unless Dir.exist?(in_box("out"))
    source = <<~RUBY
      require "profiler"
      require "timeout"
      shop = Profiler::Profile.load(#{shop.inspect})
      define_method(:save) { shop.save("a.pb.gz") }
      def began = (sleep 0.01 until File.exist?(#{began.inspect})).then { File.delete(#{began.inspect}) }
      def files = Dir.children(".").map { |it| it.sub(/\\.\\h{8}\\.tmp/, ".tmp") }
      #{code}
    RUBY
    result = ruby_child("-e", source, chdir: in_box("out"), env: slow_disk(disk, began: began), **options)
    expect(result.status).to be_success, "#{result.status}\n#{result.err}"
    result.out
  end

  describe "to a place that is no regular file" do
    def run(code)
      Dir.mkdir(in_box("out"))
      result = ruby_child("-e", "require 'profiler'; shop = Profiler::Profile.load(#{shop.inspect}); #{code}", chdir: in_box("out"))
      expect(result.status).to be_success, result.err
      result.out
    end

    it "writes to a pipe, and leaves it one" do
      expect(run(<<~RUBY)).to eq("fifo true")
        File.mkfifo("p")
        reading = Thread.new { File.read("p") }
        shop.save("p", format: :text)
        print File.ftype("p"), " ", reading.value.b == shop.dump(:text).b
      RUBY
    end

    it "writes to a device, and leaves it one" do
      skip("only root makes devices") unless Process.uid.zero?
      expect(run(<<~RUBY)).to eq("characterSpecial [\"d\"]")
        system("mknod", "d", "c", "1", "3") || abort
        shop.save("d", format: :text)
        Profiler.run(out: "d", format: :text) { Process.wait(fork { }) }
        print File.ftype("d"), " ", Dir.children(".")
      RUBY
    end

    it "follows a symbolic link, also one to a file that is not there yet" do
      expect(run(<<~RUBY)).to eq("link true\nlink true\n")
        File.symlink("there.txt", "a.txt")
        2.times do
          shop.save("a.txt")
          puts "\#{File.lstat("a.txt").ftype} \#{File.binread("there.txt") == shop.dump(:text).b}"
        end
      RUBY
    end
  end

  it "lets other threads run" do
    expect(program(<<~RUBY)).to eq(%(["a.tmp"] true\n[]\n))
      saving = Thread.new { save }
      began
      puts "\#{files.map { |it| it.sub(".pb.gz", "") }} \#{saving.alive?}"
      saving.kill.join
      p files
    RUBY
  end

  it "ends on an exception from outside, passes it on, and leaves no temporary file" do
    expect(program(<<~RUBY)).to eq(<<~OUT)
      def error = yield.then { "none" } rescue "\#{$!.class}: \#{$!.message}"
      puts error { Timeout.timeout(0.2) { save } }, files.inspect
      began
      saver = Thread.new { error { save } }
      began
      saver.raise(ArgumentError, "from outside")
      puts saver.value, files.inspect
      main = Thread.current
      Thread.new { began; Process.kill(:INT, Process.pid) }
      begin
        save
      rescue Interrupt
        puts "interrupted", files.inspect
      end
      puts catch(:out) { trap(:USR1) { throw :out, "thrown" }; Process.kill(:USR1, Process.pid); save; "saved" }, files.inspect
    RUBY
      Timeout::Error: execution expired
      []
      ArgumentError: from outside
      []
      interrupted
      []
      thrown
      []
    OUT
  end

  it "continues after a trapped signal, and where interrupts are deferred" do
    expect(program(<<~RUBY, disk: "1")).to eq("trapped\n[\"a.pb.gz\"] 600\nput off\n[\"b.pb.gz\", \"a.pb.gz\"]\n")
      trap(:USR1) { puts "trapped" }
      Thread.new { began; Process.kill(:USR1, Process.pid) }
      save
      puts "\#{files} \#{(File.stat("a.pb.gz").mode & 0o777).to_s(8)}"
      saver = Thread.new do
        Thread.handle_interrupt(RuntimeError => :never) { Thread.current[:ready] = true; shop.save("b.pb.gz") }
      rescue RuntimeError
        puts $!.message
      end
      saver.report_on_exception = false
      sleep 0.01 until saver[:ready]
      saver.raise("put off")
      saver.join
      p files.sort.reverse
    RUBY
  end

  it "leaves no file of a child that another thread forks meanwhile" do
    expect(program(<<~RUBY)).to eq("child\n0 [\"a.pb.gz.tmp\"]\n[]\n")
      saving = Thread.new { save }
      began
      pid = fork { puts "child"; $stdout.flush }
      puts "\#{Process.wait2(pid).last.exitstatus} \#{files}"
      saving.kill.join
      p files
    RUBY
  end

  it "leaves no file of a child that a trap forks meanwhile" do
    expect(program(<<~RUBY, disk: "2")).to eq("child Profiler::Error: the process was forked while this was written or computed\n0 true\n[\"a.pb.gz\"]\n")
      parent = Process.pid
      trap(:USR1) { @child = fork }
      Thread.new { began; Process.kill(:USR1, Process.pid) }
      begin
        save
      rescue Profiler::Error
        puts "child \#{$!.class}: \#{$!.message}"
        $stdout.flush
        exit!(files == ["a.pb.gz.tmp"] ? 0 : 1)
      end
      puts "\#{Process.wait2(@child).last.exitstatus} \#{Process.pid == parent}"
      p files
    RUBY
  end

  it "reports a full disk, and keeps the old file" do
    expect(program(<<~RUBY, disk: "full")).to eq("Errno::ENOSPC: No space left on device - #{in_box("out")}/a.pb.gz\n[\"a.pb.gz\"] before\n")
      File.write("a.pb.gz", "before")
      begin
        save
      rescue SystemCallError
        puts "\#{$!.class}: \#{$!.message}"
      end
      puts "\#{files} \#{File.read("a.pb.gz")}"
    RUBY
  end

  # Runs a whole process that profiles itself.
  def app(code, disk)
    Dir.mkdir(in_box("out"))
    env = { "PROFILER_OUT" => "a.pb.gz", **slow_disk(disk, began: began) }
    ruby_child("-rprofiler/autoload", "-e", code, chdir: in_box("out"), env: env)
  end

  it "does not keep exit! beyond its deadline" do
    result = app("exit!(7)", SlowDisk::HANGS)
    expect([result.code, Dir.children(in_box("out"))]).to eq [7, []]
    expect(result.err).to eq "[profiler] the profile was not written to #{in_box("out/a.pb.gz")}: it took longer than 5 s\n"
  end

  it "can be interrupted at the end of a process" do
    result = app("parent = Process.pid; Thread.new { sleep 0.01 until File.exist?(#{began.inspect}); Process.kill(:TERM, parent) }", SlowDisk::HANGS)
    expect([result.code, Dir.children(in_box("out"))]).to eq [143, []]
  end
end
