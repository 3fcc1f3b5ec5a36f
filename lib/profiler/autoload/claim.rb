# frozen_string_literal: true

require_relative "settings"

module Profiler
  module Autoload
    # Decides which process writes the file with the requested name: the first one. Processes that it starts add their pid to
    # the name, so none overwrites another's file.
    #
    # Under +profiler record+ a small file, the claims file, keeps the first one's pid: in +sh -c "ruby a; ruby b"+ no process could
    # inform the second Ruby of the first. It also lists the written files for +record+, and what each process used. Elsewhere
    # the first process leaves its pid in the environment.
    #
    # A process that calls exec keeps its pid, and so its claim. The file from before exec has the pid and the number of calls
    # of exec so far, which the environment counts.
    class Claim
      # The longest line that is written, bytes: one with a path.
      LONGEST_LINE = 8_192

      # @param env [Hash{String => String}] inherited by child processes
      def initialize(env = ENV)
        @env = env
        @claims = env[Settings::CLAIMS] unless env[Settings::CLAIMS].to_s.empty?
      end

      # Returns whether this process is the first, from now on.
      def mine?
        return @env[Settings::OWNER] == pid || (@env[Settings::OWNER].nil? && take) unless @claims

        @mine = in_claims { |claims| owner(claims) == pid } if @mine.nil?
        @mine
      end

      # Returns whether this process is under +profiler record+.
      def by_command?
        !@claims.nil?
      end

      # Returns how often this process has called exec.
      def execs
        @env[Settings::EXECS].to_i
      end

      # Counts one more exec while the block, which calls it, runs.
      def exec
        before = @env[Settings::EXECS]
        @env[Settings::EXECS] = (execs + 1).to_s
        yield
      ensure
        @env[Settings::EXECS] = before
      end

      # Adds a file to the list of +profiler record+.
      def wrote(path)
        in_claims { |claims| append(claims, "wrote #{path}") } if @claims
      end

      # Adds the garbage collections of this process to the list of +profiler record+: their number and time, and the objects.
      def used(collections, collecting_ns, objects)
        in_claims { |claims| append(claims, "used #{collections} #{collecting_ns} #{objects}") } if @claims
      end

      # @param path [String] the path of a claims file
      # @return [Array(Array<String>, Array<Array<Integer>>)] the files that were written, and what each process used
      def self.read(path)
        lines = File.readlines(path, chomp: true, mode: "rb")
        used = lines.map { |line| line.match(/\Aused (\d+) (\d+) (\d+)\z/) }.compact # a full disk cuts a line
        written = lines.map { |line| line[/\Awrote (.+)\z/, 1] }.compact
        [written.map { |path| path.force_encoding(Encoding.find("filesystem")) }, used.map { |it| it.captures.map(&:to_i) }]
      end

      private

      def pid
        Process.pid.to_s
      end

      def take
        @env[Settings::OWNER] = pid
        true
      end

      # Returns the owner's pid in the claims file. If there was none, this process becomes the owner.
      def owner(claims)
        known = claims.each_line(chomp: true).map { |line| line[/\Aowner (\d+)\z/, 1] }.compact.first
        append(claims, "owner #{pid}") unless known
        known || pid
      end

      def append(claims, line)
        claims.seek(0, IO::SEEK_END)
        claims.puts(line)
      end

      # Locks the file. Some file systems and sandboxes have no locks; two processes that start at the same time may then both believe
      # that they are
      # first.
      def lock(claims)
        claims.flock(File::LOCK_EX)
      rescue SystemCallError, NotImplementedError
        nil
      end

      # Opens the claims file, but never creates it. Without one the recording is over and the name is used: false.
      def in_claims
        File.open(@claims, File::RDWR | File::BINARY) do |claims|
          lock(claims)
          # Writing beyond the limit would end the process by SIGXFSZ.
          raise Errno::EFBIG if claims.size + LONGEST_LINE > Process.getrlimit(:FSIZE).first

          yield claims
        end
      rescue SystemCallError
        false
      end
    end
  end
end
