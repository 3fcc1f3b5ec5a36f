# frozen_string_literal: true

require "profiler"
require "profiler/cli"
require "profiler/cli/top"
require_relative "../support/live"
require_relative "../support/tools"

RSpec.describe "profiler top" do
  include_context "with a live program"

  include Tools

  before { need("tmux") }

  let(:burning) { <<~'RUBY' }
    def burn = 2_000.times { |number| number.to_s }
    def other = 500.times { |number| number.to_s }
    named("pool") { sleep }
    ready
    (Profiler.label(job: "mail") { burn }; other) until over?
  RUBY

  # A terminal of its own for the block.
  def terminal(pid, columns, rows, env: {})
    socket = File.join(box, "tmux")
    settings = Child::CLEAN.compact.merge(environment).merge("LC_ALL" => "C.UTF-8").merge(env).flat_map { |name, value| ["-e", "#{name}=#{value}"] }
    command = [RbConfig.ruby, Child::EXE, "top", pid.to_s]
    @tmux = ["tmux", "-S", socket]
    system({ "TERM" => "xterm-256color", "RUBYOPT" => nil }, *@tmux, "new-session", "-d", "-x", columns.to_s, "-y", rows.to_s, *settings,
           "#{command.map { |it| "'#{it}'" }.join(" ")} 2> '#{box}/err'; echo status $?; sleep 60", chdir: box)
    yield
  ensure
    system(*@tmux, "kill-server", err: File::NULL)
  end

  def press(*keys) = system(*@tmux, "send-keys", *keys)
  def screen(*options) = IO.popen([*@tmux, "capture-pane", "-p", *options], &:read)

  # Waits until the screen has that.
  def shows(pattern)
    text = nil
    wait_until { (text = screen).match?(pattern) }
    expect(text.lines.map { |it| it.chomp.size }.max).to be <= @columns if @columns
    text
  rescue Child::TimedOut
    raise "no #{pattern.inspect} on\n#{screen}"
  end

  it "follows keys, on a terminal of 80 columns" do
    @columns = 80
    live(burning) do |pid|
      terminal(pid, 80, 24) do
        expect(shows(/Object#burn/).lines.first).to match(/\Aprofiler top #{pid} /)
        expect(screen.lines[3]).to match(/TOTAL +SELF +NAME/)
        press("o")
        shows(/by total/)
        press("t")
        expect(shows(/of thread/)).to include("main (#{pid})")
        press("b")
        shows(/of job.*^.*mail/m)
        press("l")
        shows(/of lines.*-e:2/m)
        press("m", "/", "B", "U", "R", "N", "Enter")
        expect(shows(/with "BURN"/)).not_to match(/Object#other/)
        press("Enter")
        shows(/callees.*Integer#times/m)
        press("Escape")
        shows(/Object#other/)
        press("c", "Enter") # no sample of time has a class
        shows(/only methods can be opened/)
        press("m")
        shows(/Object#other/)
        press("p")
        shows(/\(paused\)/)
        press("p", "d")
        shows(/thread #{pid} "main".*\n +.*\n/)
        press("w")
        shows(/wrote top-.*pb.gz/)
        press("q")
        shows(/status 0/)
      end
      written = Dir["#{box}/top-*.pb.gz"]
      expect(profiler_child("report", *written).out).to include("Object#burn")
    end
  end

  it "resizes, has no colours if they are not wanted, and ends with its process" do
    live(burning) do |pid|
      terminal(pid, 80, 24) do
        shows(/Object#burn/)
        wait_until { screen("-e").include?("\e[") }
        system(*@tmux, "resize-window", "-x", "200", "-y", "50")
        wait_until { screen.lines.size > 30 || screen.lines.last.to_s.include?("mltscb") }
        shows(/Object#burn/)
        Process.kill(:KILL, pid)
        shows(/status 1/)
        expect(File.read("#{box}/err")).to match(/\Aprofiler: no answer from/)
      end
    rescue RSpec::Expectations::ExpectationNotMetError => e
      raise unless e.message.include?("SIGKILL") # so the process was ended
    end
  rescue RSpec::Expectations::ExpectationNotMetError => e
    raise unless e.message.include?("SIGKILL")
  end

  it "has no colours if they are not wanted" do
    live(burning) do |pid|
      terminal(pid, 80, 24, env: { "NO_COLOR" => "1" }) do
        shows(/Object#burn/)
        expect(screen("-e")).not_to include("\e[")
        press("q")
      end
    end
  end

  it "says what a recording of the same seconds says" do
    live(burning) do |pid|
      recording = Thread.new { profiler_of("record", "--pid", pid, "--mode", "cpu", "--duration", 3, "-o", "it.pb.gz", "-q", chdir: box) }
      top = JSON.parse(profiler_of("top", "--once", "--json", "--mode", "cpu", "--window", 2, pid).out, symbolize_names: true)
      recording.join
      expect(top).to include(pid: pid, type: "cpu", by: "methods", seconds: be_within(0.3).of(2))
      total = ->(rows) { rows.find { |it| it[:name] == "Object#burn" }.fetch(:total).to_f }
      report = JSON.parse(profiler_child("report", "it.pb.gz", "--json", "--sort-total", "--limit", "0", chdir: box).out, symbolize_names: true)
      recorded = total[report.fetch(:top)] / report.fetch(:top).sum { |it| it[:self] }
      shown = total[top.fetch(:rows)] / top.fetch(:total)
      expect(shown).to be_between(0.05, 0.95) # a small heap is collected often, which no method calls
      expect(shown).to be_within(0.1).of(recorded)
    end
  end

  it "needs a terminal, or --once" do
    live("ready; wait_for_end") do |pid|
      expect(profiler_of("top", pid)).to have_attributes(code: 2, err: "profiler: the screen needs a terminal; without one, pass --once\n")
      expect(profiler_of("top", "--json", pid).err).to eq("profiler: --json needs --once\n")
      expect(profiler_of("top", "--once", "--window", "0", pid).err).to match(/--window "0" is not a number of seconds/)
      expect(profiler_of("top", "--once", "--by", "endpoint", "--window", "0.2", pid).err).to match(/endpoint/)
    end
  end
end

RSpec.describe Profiler::CLI::Windows do
  it "has the length of its profile, however late the answer comes" do
    profile = Profiler.run(mode: :cpu) { sleep 0.1 }
    client = Object.new
    client.define_singleton_method(:ask) { |_| sleep(1) && [{}, profile.to_pprof] }
    expect(described_class.new(client, 1, 0.1).next.seconds).to eq(profile.stats[:duration_ns] / 1e9)
  end
end
