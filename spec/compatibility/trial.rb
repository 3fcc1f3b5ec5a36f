# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "ways"

module Compatibility
  # The part of a suite that one process runs, most often a file.
  #
  # framework is one that recorder.rb knows; arguments are those of Ruby, where the recorder is loaded already.
  Item = Struct.new(:name, :directory, :framework, :arguments, :env, keyword_init: true)

  # How a process with tests ended.
  #
  # tests has each test's status; profiles counts the files that we wrote, main says whether the process itself wrote one.
  Outcome = Struct.new(:tests, :ended, :profiles, :main, :messages, keyword_init: true)

  # A run of an item in one way, in a process group and a temporary directory of its own.
  class Trial
    PROCESS = "(process)"
    RECORDER = File.join(__dir__, "recorder.rb")

    # @param logs [String] the directory for what it prints
    def initialize(item, way, logs:, ruby: RbConfig.ruby, limit: 900)
      @item = item
      @way = way
      @ruby = ruby
      @limit = limit
      FileUtils.mkdir_p(logs)
      @log = File.join(logs, "#{item.name.gsub(/[^\w.-]+/, "_")}.#{way.name}.log")
    end

    # @param only [Array<String>, nil] tests; nil is all of them
    # @return [Outcome]
    def run(only: nil)
      Dir.mktmpdir("compatibility-") do |directory|
        directory = File.realpath(directory)
        %w[home tmp profiles].each { |name| Dir.mkdir(File.join(directory, name)) }
        File.chmod(0o1777, File.join(directory, "tmp"))
        ended = wait_for(start(directory, only))
        outcome(directory, ended)
      ensure
        FileUtils.chmod_R("u+rwX", directory) if directory # or what a test left behind cannot be taken away
      end
    end

    private

    def start(directory, only)
      env = @way.environment(File.join(directory, "profiles")).merge(
        "COMPATIBILITY_RESULTS" => File.join(directory, "results"), "COMPATIBILITY_FRAMEWORK" => @item.framework,
        "COMPATIBILITY_ONLY" => only&.join("\n"), "HOME" => File.join(directory, "home"), "TMPDIR" => File.join(directory, "tmp"),
        "LANG" => "C.UTF-8", "TERM" => "dumb", "RUBY_TEST_TIMEOUT_SCALE" => "5"
      ).merge(@item.env || {})
      arguments = @item.framework == "own" ? @item.arguments : ["-r#{RECORDER}", *@item.arguments]
      spawn(env, @ruby, *arguments, chdir: @item.directory, in: File::NULL, %i[out err] => [@log, "w"], pgroup: true)
    end

    # Processes left in its group end too.
    def wait_for(pid)
      deadline = now + @limit
      sleep 0.05 until (status = Process.wait2(pid, Process::WNOHANG)&.last) || now > deadline
      return ended(status) if status

      kill(:QUIT, pid)
      sleep 2
      kill(:KILL, pid)
      Process.wait(pid)
      "hung"
    ensure
      kill(:KILL, pid)
    end

    def ended(status)
      return "signal #{Signal.signame(status.termsig)}" if status.signaled?

      "ended" # Ruby's runner exits with the number of failures
    end

    def kill(signal, pid)
      Process.kill(signal, -pid)
    rescue Errno::ESRCH, Errno::EPERM
      nil
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # A test that failed in its teardown is listed twice: it failed.
    def outcome(directory, ended)
      results = File.join(directory, "results")
      tests = { PROCESS => ended }
      lines = File.exist?(results) ? File.binread(results).lines(chomp: true) : []
      lines.each do |line|
        status, test = line.split("\t", 2)
        tests[test] = status unless tests[test] == "failed"
      end
      profiles = Dir.children(File.join(directory, "profiles"))
      messages = File.binread(@log).scan(/\[profiler\] .*/)
      Outcome.new(tests: tests, ended: ended, profiles: profiles.size, main: profiles.include?("profile.pb.gz"), messages: messages)
    end
  end
end
