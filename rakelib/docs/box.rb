# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require "socket"
require "tmpdir"

module Docs
  # A directory of its own for a block, with programs for it to profile, and an environment in which the profiler uses nothing
  # outside of it.
  class Box
    ROOT = File.expand_path("../..", __dir__)
    PROGRAMS = File.join(__dir__, "programs")
    BIN = File.join(__dir__, "bin")
    SAMPLE = File.join(ROOT, "spec/fixtures/shop.pb.gz") # a profile, wherever a block reads one that nobody has written

    attr_reader :path, :port

    # @param programs [Array<String>] directories in {PROGRAMS}
    def self.open(programs)
      Dir.mktmpdir("docs") { |path| yield new(File.realpath(path), programs) }
    end

    def initialize(path, programs)
      @path = path
      @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
      ["common", *programs].each { |name| FileUtils.cp_r("#{PROGRAMS}/#{name}/.", path) }
      %w[bin run home tmp].each { |name| FileUtils.mkdir_p(file(name), mode: 0o700) }
      FileUtils.ln_s(RbConfig.ruby, file("bin/ruby"))
      FileUtils.cp(SAMPLE, file("sample.pb.gz"))
    end

    def file(name) = File.join(path, name)

    # Directories and ports that a document names are of the box.
    def local(text)
      text.gsub("/path/to/the/clone", ROOT).gsub("/var/log/app", file("log"))
          .gsub("localhost:9292", "localhost:#{port}").gsub(":6060", ":#{port}")
    end

    # Runs a command to its end, and all that it has started.
    #
    # @return [Array(String, Process::Status)] its output
    def run(*command, seconds:)
      log = file("tmp/output")
      pid = Process.spawn(environment, *command, chdir: path, pgroup: true, in: File::NULL, %i[out err] => [log, "w"])
      till = now + seconds
      sleep 0.02 until (status = Process.wait2(pid, Process::WNOHANG)&.last) || now > till
      output = File.read(log, encoding: Encoding::UTF_8)
      output << "\nafter #{seconds} s it had not ended\n" unless status
      [output, status]
    ensure
      end_group(pid, status)
    end

    private

    def end_group(pid, status)
      Process.kill(:KILL, -pid)
      Process.wait(pid) unless status
    rescue Errno::ESRCH
      nil # all have ended
    end

    def environment
      clean = ENV.keys.grep(/\A(PROFILER_|BUNDLE|RUBYOPT|RACK_ENV|RAILS_ENV|SSH_|DISPLAY)/).to_h { |name| [name, nil] }
      clean.merge("PATH" => [file("bin"), BIN, "#{ROOT}/exe", ENV.fetch("PATH")].join(":"), "RUBYLIB" => "#{ROOT}/lib", "HOME" => file("home"),
                  "TMPDIR" => file("tmp"), "XDG_RUNTIME_DIR" => file("run"), "BROWSER" => "true", "LC_ALL" => "C.UTF-8", "NO_COLOR" => "1",
                  "PORT" => port.to_s, "PROFILER_TOKEN" => "a token of 24 characters", "RACK_ENV" => "development", "DOCS" => __dir__)
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
