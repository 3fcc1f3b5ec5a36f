# frozen_string_literal: true

require_relative "../support/slow_disk"

# When a recording records: between two signals, for a duration, or from the start but paused.
RSpec.describe "profiler record, with limits of time," do
  include SlowDisk
  include_context "with a box"

  def record(*args, code)
    profiler_child("record", *args, "--out", "it.pb.gz", "--", RbConfig.ruby, "-e", code, chdir: box)
  end

  def profile
    require "profiler"
    Profiler::Profile.load(in_box("it.pb.gz"))
  end

  def recorded?(name)
    profile.samples.any? { |row| row.frames.any? { |frame| frame.name == "Object##{name}" } }
  end

  let(:program) { "#{burn}; def before = burn(100); def during = burn(100); def after = burn(100); " }

  it "records from one --signal to the next", :timed do
    result = record("--start-paused", "--signal", "SIGUSR2", program + <<~RUBY)
      def signal = (Process.kill(:USR2, $$); sleep 1)
      before
      signal
      during
      signal
      100.times { File.exist?("it.pb.gz") || sleep(0.1) }
      puts File.exist?("it.pb.gz")
      after
    RUBY
    expect([result.code, result.out]).to eq [0, "true\n"]
    expect(%w[before during after].map { |name| recorded?(name) }).to eq [false, true, false]
    expect(result.err.lines.first).to eq "[profiler] recording\n"
    expect(result.err.scan(/-> it\.pb\.gz|wrote it\.pb\.gz/)).to eq ["-> it.pb.gz", "wrote it.pb.gz"] # at the second signal, and at the end
  end

  it "stops after --duration, and the command goes on", :timed do
    result = record("--duration", "1", program + <<~RUBY)
      during
      100.times { File.exist?("it.pb.gz") || sleep(0.1) }
      puts File.exist?("it.pb.gz")
      after
    RUBY
    expect([result.code, result.out, result.err.scan(/-> it\.pb\.gz|wrote it\.pb\.gz/)]).to eq [0, "true\n", ["-> it.pb.gz", "wrote it.pb.gz"]]
    expect(%w[during after].map { |name| recorded?(name) }).to eq [true, false]
  end

  { "exit" => 0, "exit!(3)" => 3, "exec('true')" => 0, "Process.kill(:TERM, $$); sleep" => 143,
    "trap(:TERM) { exit!(3) }; Process.kill(:TERM, $$); sleep" => 3 }.each do |ending, status|
    it "writes a complete profile when the command ends in the middle of --duration: #{ending}" do
      began = in_box("began")
      env = { "PROFILER_OUT" => "it.pb.gz", "PROFILER_DURATION" => "0.3", **slow_disk("1", began: began) }
      result = ruby_child("-rprofiler/autoload", "-e", "10.times { |it| it.to_s } until File.exist?(#{began.inspect}); #{ending}",
                          env: env, chdir: box)
      expect([result.code, profile.samples.any?]).to eq [status, true]
      expect(result.err).to match(/\A\[profiler\] (?:cpu|only \d+ samples) .* -> it.pb.gz\n\z/)
    end
  end

  it "records nothing with --start-paused if the signal never comes", :timed do
    result = record("--start-paused", program + "before")
    expect(result.code).to eq 0
    expect(recorded?("before")).to be false
    expect(profile.samples.sum(&:cpu)).to be < 60_000_000 # from the start of the session to its pause, on a slow machine
  end

  it "adds --label to every sample, overridden by the program's own labels" do
    result = record("--label", "region=eu", "--label", "service=web", "#{program} before; Profiler.label(service: 1) { during }")
    expect(result.code).to eq 0
    expect(profile.by("region").map { |row| row[:value] }).to eq ["eu"]
    expect(profile.by("service").map { |row| row[:value] }).to contain_exactly("web", "1")
  end

  it "refuses invalid options" do
    { %w[--duration 0] => "--duration \"0\" is not a number of seconds above 0 and up to 1000000000", %w[--duration 1e300] => "--duration \"1e300\"", %w[--duration soon] => "--duration \"soon\"",
      %w[--signal KILL] => "--signal \"KILL\" is not a signal that can be used", %w[--signal PROF] => "--signal \"PROF\"",
      %w[--label alone] => "--label \"alone\" is not NAME=VALUE" }.each do |options, saying|
      result = record(*options, "puts 1")
      expect([options, result.code, result.out, files]).to eq [options, 2, "", []]
      expect(result.err).to start_with("profiler: ").and include(saying)
    end
  end
end
