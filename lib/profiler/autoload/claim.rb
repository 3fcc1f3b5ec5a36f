# frozen_string_literal: true

require_relative "settings"

module Profiler
  module Autoload
    # Decides which process writes the file with the requested name: the first one. Processes that it starts add their pid to
    # the name, so none overwrites another's file.
    #
    # Under +profiler record+ a small file, the ledger, keeps the first one's pid: in +sh -c "ruby a; ruby b"+ no process could
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
        @ledger = env[Settings::LEDGER] unless env[Settings::LEDGER].to_s.empty?
      end

      # Returns whether this process is the first, from now on.
      def mine?
        return @env[Settings::OWNER] == pid || (@env[Settings::OWNER].nil? && take) unless @ledger

        @mine = in_ledger { |ledger| owner(ledger) == pid } if @mine.nil?
        @mine
      end

      # Returns whether this process is under +profiler record+.
      def by_command?
        !@ledger.nil?
      end

      # The number of times that this process has called exec.
      def execs
        @env[Settings::EXECS].to_i
      end

      # Counts one more exec while the block runs, which calls it.
      def exec
        before = @env[Settings::EXECS]
        @env[Settings::EXECS] = (execs + 1).to_s
        yield
      ensure
        @env[Settings::EXECS] = before
      end

      # Adds a file to the list of +profiler record+.
      def wrote(path)
        in_ledger { |ledger| append(ledger, "wrote #{path}") } if @ledger
      end

      # Adds the garbage collections of this process to the list of +profiler record+: their number and time, and the objects.
      def used(collections, collecting_ns, objects)
        in_ledger { |ledger| append(ledger, "used #{collections} #{collecting_ns} #{objects}") } if @ledger
      end

      # @param path [String] a ledger
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

      # The owner's pid in the ledger: this process's, if there was none.
      def owner(ledger)
        known = ledger.each_line(chomp: true).map { |line| line[/\Aowner (\d+)\z/, 1] }.compact.first
        append(ledger, "owner #{pid}") unless known
        known || pid
      end

      def append(ledger, line)
        ledger.seek(0, IO::SEEK_END)
        ledger.puts(line)
      end

      # Some file systems and sandboxes have no locks. Then two processes that start at once may both believe that they are
      # first.
      def lock(ledger)
        ledger.flock(File::LOCK_EX)
      rescue SystemCallError, NotImplementedError
        nil
      end

      # Opens the ledger, but never creates it. Without one the recording is over and the name is used: false.
      def in_ledger
        File.open(@ledger, File::RDWR | File::BINARY) do |ledger|
          lock(ledger)
          # Writing beyond the limit would end the process by SIGXFSZ.
          raise Errno::EFBIG if ledger.size + LONGEST_LINE > Process.getrlimit(:FSIZE).first

          yield ledger
        end
      rescue SystemCallError
        false
      end
    end
  end
end
