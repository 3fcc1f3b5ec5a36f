# frozen_string_literal: true

require "fileutils"
require_relative "../support/live"

RSpec.describe "A session in a running process" do
  include_context "with a live program"

  let(:burning) { <<~'RUBY' }
    def burn = 1_000.times { |number| number.to_s }
    ready
    burn until over?
    puts Profiler::Testing.sessions
  RUBY

  def functions_of(file)
    profiler_child("report", "--json", file).out.then { |it| JSON.parse(it) }
  end

  it "is started and stopped by a command, where its file is written" do
    live(burning) do |pid|
      started = profiler_of("start", "--mode", "cpu", pid)
      expect(started).to have_attributes(err: "", out: "session 1 is running: profiler stop --session 1 #{pid}\n")
      expect(JSON.parse(profiler_of("start", "--mode", "allocations", "--every", 10, "--json", pid).out)).to eq("session" => 2)
      expect(ask(pid, do: "sessions").first.fetch("sessions").map { |it| it["session"] }).to eq([1, 2])
      sleep 0.5
      snapshot = profiler_of("snapshot", "--session", 1, "-o", "so-far.pb.gz", pid, chdir: box)
      expect(snapshot.err).to match(/Object#burn.*wrote so-far.pb.gz/m)
      stopped = profiler_of("stop", "-o", "objects.pb.gz", "-q", pid, chdir: box)
      expect(stopped).to have_attributes(out: "", err: "")
      profiler_of("stop", "-o", "cpu.pb.gz", "-o", "cpu.html", pid, chdir: box)
      expect(profiler_of("stop", pid, chdir: box)).to have_attributes(code: 1, err: /no session that was started over the control socket is running/)
      report = %w[so-far cpu objects].to_h { |it| [it, profiler_child("report", "#{it}.pb.gz", chdir: box).out] }
      expect(report.values).to all(include("Object#burn"))
      expect(report["objects"]).to include("alloc_space")
      expect(Dir.children(box)).to include("cpu.html")
    end
  end

  it "is recorded for some seconds" do
    live(burning) do |pid|
      result = profiler_of("record", "--pid", pid, "--duration", 0.5, "-o", "it.pb.gz", chdir: box)
      expect(result).to have_attributes(code: 0, err: /Object#burn.*wrote .*it.pb.gz/m)
      expect(profiler_child("report", "it.pb.gz", chdir: box).out).to match(/mode +cpu/)
    end
  end

  it "is written if its process ends first" do
    ["exit 3", "raise 'x'", "Process.kill(:TERM, $$); sleep", "Process.daemon; sleep 0.2", "exec 'true'"].each do |way|
      recorded = nil
      ruby_child("-e", "#{start}\ndef burn = 1_000.times { |number| number.to_s }\nready\nburn until over?\n#{way}", env: environment) do |pid|
        wait_until { File.exist?("#{box}/ready") }
        recorded = profiler_of("record", "--pid", pid, "--duration", 60, "-o", "end.pb.gz", chdir: box) do
          wait_until { ask(pid, do: "sessions").first.fetch("sessions").any? }
          sleep 0.5
          FileUtils.touch("#{box}/over")
        end
      end
      expect(recorded).to have_attributes(code: 0, err: /^profiler: the process has .*: this is the profile until then\n.*Object#burn.*wrote .*end.pb.gz/m), "#{way}: #{recorded.err}"
      FileUtils.rm_f(["#{box}/ready", "#{box}/over", "#{box}/end.pb.gz"])
    end
  end

  it "is written into another directory if its process has ended and the file cannot be written" do
    Dir.mkdir("#{box}/removed")
    elsewhere = nil
    live(burning) do |pid|
      recorded = profiler_of("record", "--pid", pid, "--duration", 60, "-o", "removed/end.pb.gz", chdir: box) do
        wait_until { ask(pid, do: "sessions").first.fetch("sessions").any? }
        sleep 0.3
        FileUtils.rmdir("#{box}/removed")
        FileUtils.touch("#{box}/over")
      end
      expect(recorded.code).to eq(1)
      elsewhere = recorded.err[%r{\Aprofiler: cannot write .*/removed/end.pb.gz: No such file or directory; the process has ended, so the profile is in (/.*/end.pb.gz)$}, 1]
      expect(elsewhere).not_to be_nil, recorded.err
    end
    expect(profiler_child("report", elsewhere).out).to include("Object#burn")
  ensure
    FileUtils.rm_rf(File.dirname(elsewhere)) if elsewhere
  end

  it "is lost with the reason if the process that ends cannot send it" do
    lost = nil
    code = "module Broken; def snapshot = raise(Profiler::Error, 'no snapshot'); end; Profiler::Session.prepend(Broken); #{burning}"
    live(code) do |pid|
      lost = profiler_of("record", "--pid", pid, "--duration", 60, "-o", "lost.pb.gz", chdir: box) do
        wait_until { ask(pid, do: "sessions").first.fetch("sessions").any? }
        FileUtils.touch("#{box}/over")
      end
    end
    expect(lost).to have_attributes(code: 1, err: "profiler: the process has ended, and its profile is lost: no snapshot\n")
  end

  it "is written at the signals that end the command, and missed if its process was killed" do
    %w[INT TERM HUP].each do |signal|
      live(burning) do |pid|
        result = profiler_of("record", "--pid", pid, "-o", "#{signal}.pb.gz", chdir: box) do |recorder|
          wait_until { ask(pid, do: "sessions").first.fetch("sessions").any? }
          sleep 0.3
          Process.kill(signal, recorder)
        end
        expect(result).to have_attributes(code: 0, err: /wrote .*#{signal}\.pb\.gz/)
      end
      FileUtils.rm_f(["#{box}/ready", "#{box}/over"])
    end
    gone = nil
    begin
      live(burning) do |pid|
        gone = profiler_of("record", "--pid", pid, "--duration", 60, "-o", "gone.pb.gz", chdir: box) do
          wait_until { ask(pid, do: "sessions").first.fetch("sessions").any? }
          Process.kill(:KILL, pid)
        end
      end
    rescue RSpec::Expectations::ExpectationNotMetError
      nil # it was killed
    end
    # Killed before the answer to the start had come, it is an answer that is missing.
    expect(gone).to have_attributes(code: 1, err: /\Aprofiler: (process \d+ was killed or has crashed, so its profile is lost|no answer from .*: the process has ended, .*)\n\z/)
  end

  it "keeps its profile in the process until that could be written" do
    live(burning) do |pid|
      profiler_of("start", pid)
      sleep 0.3
      full = profiler_of("stop", "-o", "/dev/full", "--format", "pprof", pid)
      expect(full).to have_attributes(code: 1, err: "profiler: cannot write /dev/full: No space left on device; the process keeps the profile " \
                                                    "(profiler stop --session 1 -o FILE PID)\n")
      expect(profiler_of("stop", "--session", 1, "-o", "it.pb.gz", pid, chdir: box).err).to match(/Object#burn.*wrote it.pb.gz/m)
      expect(profiler_of("stop", "--session", 1, pid, chdir: box)).to have_attributes(code: 1, err: /session 1 is not running/)
      20.times { profiler_of("start", pid) && ask(pid, do: "stop", keep: true) }
      expect(ask(pid, do: "sessions").first.fetch("sessions").size).to eq(16)
    end
  end

  it "is refused with options that need a command" do
    %w[--json --control --signal=USR2 --start-paused].each do |option|
      name = option[/[^=]+/]
      expect(profiler_of("record", "--pid", 1, option)).to have_attributes(code: 2, err: "profiler: #{name} needs a command: it has no effect with --pid\n")
    end
  end

  it "ends with the command that recorded it, however that ends" do
    result = live(burning) do |pid|
      recorder = Process.spawn(Child::CLEAN.merge(environment), RbConfig.ruby, Child::EXE, "record", "--pid", pid.to_s, chdir: box)
      wait_until { ask(pid, do: "sessions").first.fetch("sessions").any? }
      Process.kill(:KILL, recorder)
      Process.wait(recorder)
      wait_until { ask(pid, do: "sessions").first.fetch("sessions").empty? }
      expect(ask(pid, do: "who").first).to include("sessions" => 0)
    end
    expect(result.out).to eq("1\n") # that of the socket itself
  end

  it "has the options of any other, which are checked" do
    live(burning) do |pid|
      errors = [["--interval", "3"], ["--engine", "steam"], ["--only", "x"], ["--mode", "cpu,tea"]].map do |option|
        profiler_of("start", *option, pid).err
      end
      expect(errors[0]).to eq("profiler: --interval 3 is not an Integer from 50 to 1000000 microseconds\n")
      expect(errors[1]).to match(/\Aprofiler: --engine steam is not an engine \(allowed/)
      expect(errors[2]).to eq("profiler: --only \"x\" is not NAME=VALUE\n")
      expect(errors[3]).to match(/tea/)
      wrong = { { out: "x" } => /out is not allowed/, { threads: 7 } => /threads/, [] => /not an object/ }
      wrong.each do |options, message|
        expect { ask(pid, do: "start", options: options) }.to raise_error(Profiler::Control::Client::Failed, message)
      end
    end
  end

  it "selects by labels" do
    code = <<~'RUBY'
      def inside = 1_000.times { |number| number.to_s }
      def outside = 1_000.times { |number| number.to_s }
      ready
      (Profiler.label(job: "mail") { inside }; outside) until over?
    RUBY
    live(code) do |pid|
      profiler_of("start", "--only", "job=mail", pid)
      sleep 0.5
      profiler_of("stop", "-o", "it.pb.gz", "-q", pid, chdir: box)
      report = profiler_child("report", "it.pb.gz", chdir: box).out
      expect(report).to include("Object#inside")
      expect(report).not_to include("Object#outside")
    end
  end

  it "does not disturb one of another engine, nor count as one" do
    result = live(<<~'RUBY') { |pid| sleep 0.1 }
      ready
      puts Profiler.running?
      Profiler.run(engine: :ticker, out: File.join(ENV.fetch("BOX"), "it.txt")) { 300_000.times { |number| number.to_s } }
      wait_for_end
    RUBY
    expect(result.out).to eq("false\n")
    expect(File.read("#{box}/it.txt")).to match(/engine ticker/)
  end
end
