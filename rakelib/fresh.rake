# frozen_string_literal: true

require "fileutils"
require "shellwords"

# A fresh machine: a new minimal Debian root with git and certificates, and without Rust or Ruby.
# What a newcomer does there, step by step: clone, bin/demo, bin/test; then the gem, as a user who cannot read the clone. On a second
# such root, the gem of this platform: there is a Ruby, and nothing that compiles.
class Fresh
  SUITES = %w[bookworm trixie].freeze # Ruby 3.1 with Rust 1.85, and Ruby 3.3 with Rust 1.85
  PLATFORM_MS = 5_000 # for all of an installation without a compiler
  USER = "somebody"
  HOME = "/home/#{USER}"
  LOGS = File.join(ROOT, "tmp/fresh")

  INSTALL = "gem install --local --no-document --install-dir #{HOME}/gems --bindir #{HOME}/bin profiler.gem"
  PROFILE = <<~SH
    cd #{HOME}
    su #{USER} -c '! ls /srv 2>/dev/null'
    su #{USER} -c 'GEM_PATH=#{HOME}/gems bin/profiler record --out flame.svg -- ruby -e "def work = 3_000_000.times { |i| i.to_s }; work"'
  SH

  # The clone is in a directory that only root can read.
  STEPS = {
    "root" => "a new root",
    "clone" => <<~SH,
      chmod 700 /srv
      git clone --quiet /srv/profiler.bundle /srv/profiler
    SH
    "demo" => <<~SH,
      cd /srv/profiler
      bin/demo
    SH
    "test" => <<~SH,
      cd /srv/profiler
      bin/test
    SH
    "gem" => <<~SH,
      cd /srv/profiler
      gem build profiler.gemspec --output /srv/profiler.gem
      useradd --create-home #{USER}
      install --mode 644 /srv/profiler.gem #{HOME}/profiler.gem
    SH
    "install" => <<~SH,
      cd #{HOME}
      su #{USER} -c '#{INSTALL}'
    SH
    "profile" => PROFILE,
    "platform" => "another new root",
    "ruby" => <<~SH,
      apt-get -qq update
      apt-get -qq -y --no-install-recommends install ruby
      ! command -v cc
      ! command -v cargo
      useradd --create-home #{USER}
      chmod 700 /srv
      install --mode 644 /srv/profiler.gem #{HOME}/profiler.gem
    SH
    "seconds" => <<~SH,
      cd #{HOME}
      began=$(date +%s%N)
      su #{USER} -c '#{INSTALL}'
      [ $(( ($(date +%s%N) - began) / 1000000 )) -le #{PLATFORM_MS} ]
    SH
    "graph" => PROFILE
  }.freeze

  # The flame graph that a step draws, and a function that must be in it.
  GRAPHS = {
    "demo" => ["/srv/profiler/tmp/demo/rdoc.svg", /RDoc::/],
    "profile" => ["#{HOME}/flame.svg", /Object#work/],
    "graph" => ["#{HOME}/flame.svg", /Object#work/]
  }.freeze

  def initialize(suite)
    @suite = suite
    @root = File.join(ROOTS, "fresh-#{suite}")
  end

  # @return [Hash{String => Array(String, Float)}] of each step: nil, or why it failed; and its seconds. After the first
  #   that failed there is no other
  def run(steps)
    locked do
      steps.each_with_object({}) do |step, results|
        puts "check:fresh: #{@suite}: #{step} (tmp/fresh/#{@suite}-#{step}.log)"
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        failure = take(step)
        results[step] = [failure, Process.clock_gettime(Process::CLOCK_MONOTONIC) - started]
        break results if failure
      end
    end
  end

  def remove
    FileUtils.rm_rf([@root, "#{@root}.log", "#{@root}.lock"], secure: true)
  end

  # The gem that rake package:native has built.
  def self.platform_gem
    Dir["#{ROOT}/pkg/profiler-*-linux.gem"].max_by { |path| File.mtime(path) } || abort("check:fresh: there is no gem of this platform: run rake package:native first, or pick other STEPS")
  end

  private

  def locked
    FileUtils.mkdir_p(File.dirname(@root))
    File.open("#{@root}.lock", "w") do |lock|
      lock.flock(File::LOCK_EX | File::LOCK_NB) || abort("check:fresh: another one has #{@root}")
      yield
    end
  end

  # A bundle has what is committed. Other files of this checkout are not on a fresh machine.
  #
  # @return [String, nil] why it failed
  def take(step)
    log = File.join(LOGS, "#{@suite}-#{step}.log")
    FileUtils.mkdir_p(LOGS)
    File.write(log, "")
    passed = case step
             when "root" then make(log) && into(log, "git", "bundle", "create", "--quiet", File.join(@root, "srv/profiler.bundle"), "HEAD")
             when "platform" then make(log) && into(log, "cp", Fresh.platform_gem, File.join(@root, "srv/profiler.gem"))
             else enter(step, log)
             end
    return "see #{log}\n#{File.readlines(log).last(30).join}" unless passed

    fault(*GRAPHS[step]) if GRAPHS.key?(step)
  end

  def make(log)
    into(log, "bin/make-root", "--minimal", @suite, @root)
  end

  def enter(step, log)
    into(log, "bin/in-root", "--minimal", @root, "sh", "-euxc", STEPS.fetch(step))
  end

  def into(log, *command)
    system(*command, chdir: ROOT, in: File::NULL, %i[out err] => [log, "a"])
  end

  def fault(path, function)
    file = File.join(@root, path)
    return "there is no #{path}" unless File.file?(file)

    frames = File.read(file).scan(%r{<title>(.*?)</title>}m).flatten
    return if frames.grep(function).any?

    "#{path} has #{frames.size} frames, and none is like #{function.inspect}"
  end
end

namespace :check do
  desc "Clone, demo, test, install and profile, and the gem of rake package:native, on new, minimal Debian 12 and 13 (FRESH=bookworm,trixie; STEPS=...; KEEP=1; 50 minutes)"
  task :fresh do
    pick = lambda do |variable, all|
      picked = ENV.fetch(variable, all.join(",")).split(/[\s,]+/)
      unknown = picked - all
      abort "check:fresh: no #{unknown.join(", ")} for #{variable}; there are #{all.join(", ")}" if unknown.any? || picked.empty?
      picked
    end
    suites = pick.call("FRESH", Fresh::SUITES)
    steps = pick.call("STEPS", Fresh::STEPS.keys)
    Fresh.platform_gem if steps.include?("platform") # before the steps that take long
    mkdir_p Fresh::LOGS, verbose: false

    results = suites.to_h do |suite|
      fresh = Fresh.new(suite)
      result = fresh.run(steps)
      fresh.remove unless ENV["KEEP"] == "1" || result.values.any?(&:first)
      [suite, result]
    end
    failed = results.flat_map { |suite, result| result.filter_map { |step, (failure, _)| "#{suite}: #{step}: #{failure}" if failure } }
    puts
    results.each do |suite, result|
      result.each { |step, (failure, seconds)| puts format("%-10s %-8s %-6s %5d s", suite, step, failure ? "FAILED" : "passed", seconds) }
    end
    abort "\n#{failed.join("\n")}" if failed.any?
  end
end
