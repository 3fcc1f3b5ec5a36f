# frozen_string_literal: true

require_relative "../support/terminal"

RSpec.describe "profiler record, as a parent process," do
  include Terminal
  include_context "with a box"

  def record(*command, **options, &block)
    profiler_child("record", "--out", "a.svg", "--quiet", "--", *command, chdir: box, **options, &block)
  end

  let(:ruby) { RbConfig.ruby }

  # Waits for the file that the script makes when it is ready.
  def once_ready
    wait_until { File.exist?(in_box("ready")) }
  end

  it "exits with the command's status" do
    { "exit 0" => 0, "exit 1" => 1, "exit 77" => 77, "exit 255" => 255, "abort" => 1, "raise IOError" => 1 }.each do |code, status|
      expect([code, record(ruby, "-e", code).code]).to eq [code, status]
    end
  end

  it "ends with 128+N when signal N killed the command" do
    { "TERM" => 143, "INT" => 130, "KILL" => 137, "USR1" => 138, "PIPE" => 141 }.each do |signal, status|
      result = record(ruby, "-e", "trap('PIPE', 'SYSTEM_DEFAULT'); Process.kill(#{signal.inspect}, $$); sleep")
      expect([signal, result.status.exitstatus]).to eq [signal, status]
    end
    expect(record(ruby, "-e", "Process.kill(:KILL, $$)").err).to match(/no profile was written: .* was killed by SIGKILL\n\z/)
  end

  it "exits as a shell does when the command cannot be run" do
    result = record("no-such-command-here")
    expect([result.code, result.err]).to eq [127, "profiler: cannot run no-such-command-here: command not found\n"]
    path = script("1", name: "not executable")
    result = record(path)
    expect([result.code, result.err]).to eq [126, "profiler: cannot run #{path}: Permission denied\n"]
    expect(record(box).code).to eq 126
    expect(record("").code).to eq 127
    expect(files).to eq ["not executable"]
  end

  it "lets a program run that may write no files" do
    # The output of the program goes where the limit does not hold.
    result = record("sh", "-c", "ulimit -f 0; exec \"$0\" -e 'exit 7' 2> /dev/null", ruby)
    expect([result.code, result.err]).to match [7, /\Aprofiler: no profile was written: /]
  end

  it "runs the command without a shell" do
    expect(record("echo $HOME; true").code).to eq 127
  end

  it "forwards signals" do
    path = script(<<~'RUBY')
      %w[INT HUP QUIT USR1 USR2 CONT].each { |name| trap(name) { File.write(name, "") } }
      trap("TERM") { exit 5 }
      File.write("ready", "")
      sleep 0.01 while true
    RUBY
    result = record(ruby, path) do |pid|
      once_ready
      %w[INT HUP QUIT USR1 USR2 CONT].each do |name|
        Process.kill(name, pid)
        wait_until { File.exist?(in_box(name)) }
      end
      Process.kill("TERM", pid)
    end
    expect([result.code, files]).to eq [5, %w[CONT HUP INT QUIT USR1 USR2 a.svg app.rb ready]]
  end

  it "survives the signals that the command survives, and writes the profile when one ends it" do
    path = script("File.write('ready', ''); sleep")
    result = record(ruby, path) do |pid|
      once_ready
      Process.kill(:TERM, pid)
    end
    expect([result.status.exitstatus, files]).to eq [143, %w[a.svg app.rb ready]]
  end

  it "lets the command ignore the signals that it ignores itself (nohup)" do
    code = "Process.kill(:HUP, $$); Process.kill(:HUP, Process.ppid); sleep 0.2; puts :alive"
    result = command_child("sh", "-c", "trap '' HUP; exec \"$@\"", "sh", ruby, Child::EXE, "record", "--quiet", "--out",
                           "a.svg", "--", ruby, "-e", code, chdir: box)
    expect([result.code, result.out]).to eq [0, "alive\n"]
  end

  # A shell without job control has them ignored by what it starts with &.
  it "forwards the signals that it ignores to a command that handles them" do
    path = script("trap('INT') { exit 6 }; trap('HUP') { File.write('HUP', '') }; File.write('ready', ''); sleep 0.01 while true")
    code = <<~SH
      trap '' HUP
      "$@" & pid=$!
      until [ -e ready ]; do sleep 0.01; done
      kill -HUP $pid
      until [ -e HUP ]; do sleep 0.01; done
      kill -INT $pid
      wait $pid
    SH
    result = command_child("sh", "-c", code, "sh", ruby, Child::EXE, "record", "--quiet", "--out", "a.svg", "--", ruby, path, chdir: box, timeout: 20)
    expect([result.code, files]).to eq [6, %w[HUP a.svg app.rb ready]]
  end

  it "forwards a signal that was sent only to it, even on a terminal" do
    path = script("trap('INT') { puts 'INT'; exit 6 }; File.write('ready', ''); sleep 0.01 while true")
    code = '"$@" & pid=$!; until [ -e ready ]; do sleep 0.01; done; kill -INT $pid; wait $pid; echo "status $?"'
    Dir.chdir(box) do
      text, = terminal_child("timeout", "20", "sh", "-c", code, "sh", ruby, Child::EXE, "record", "--quiet", "--out", "a.svg", "--", ruby, path)
      expect(text.scan(/INT|status \d+/)).to eq ["INT", "status 6"]
    end
  end

  it "does not double a terminal's Ctrl-C, and survives it to return the status" do
    path = script(<<~'RUBY')
      count = 0
      trap("INT") { count += 1 }
      File.write("ready", "")
      sleep 0.01 while count.zero?
      sleep 0.5
      puts "INT: #{count}"
      exit 3
    RUBY
    Dir.chdir(box) do
      text, status = terminal_child(ruby, Child::EXE, "record", "--quiet", "--out", "a.svg", "--", ruby, path) do |keyboard|
        once_ready
        keyboard.write("\x03")
      end
      expect([text[/INT: \d+/], status.exitstatus]).to eq ["INT: 1", 3]
    end
    expect(files).to include "a.svg"
  end
end
