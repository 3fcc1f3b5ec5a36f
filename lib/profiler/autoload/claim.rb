# frozen_string_literal: true

require_relative "settings"

module Profiler
  module Autoload
    # Who may write the file under the name that was asked for: the first process. All that it starts put
    # their pid into the name, so none overwrites what another wrote.
    #
    # Under +profiler record+ a small file, the ledger, keeps the first one's pid, for +sh -c "ruby a; ruby b"+
    # has no process that could tell the second Ruby about the first. It also tells +record+ what was
    # written. Elsewhere the first process leaves its pid in the environment. A process that turns into
    # another Ruby (exec) keeps its pid, and so its claim. What it was before has a file with the pid and, after it, how often it
    # had turned into another program by then, which the environment counts.
    class Claim
      # @param env [Hash{String => String}] inherited by what this process starts
      def initialize(env = ENV)
        @env = env
        @ledger = env[Settings::LEDGER] unless env[Settings::LEDGER].to_s.empty?
      end

      # Whether this process is the first, from now on.
      def mine?
        return @env[Settings::OWNER] == pid || (@env[Settings::OWNER].nil? && take) unless @ledger

        @mine = in_ledger { |ledger| Claim.owner(ledger, pid) == pid } if @mine.nil?
        @mine
      end

      # How often this process has turned into another program.
      #
      # @return [Integer]
      def execs
        @env[Settings::EXECS].to_i
      end

      # Counts one more while the block runs, which is to turn the process into another program.
      def exec
        before = @env[Settings::EXECS]
        @env[Settings::EXECS] = (execs + 1).to_s
        yield
      ensure
        @env[Settings::EXECS] = before
      end

      # Tells +profiler record+ of a file.
      #
      # @param path [String]
      def wrote(path)
        in_ledger { |ledger| Claim.append(ledger, "wrote #{path}") } if @ledger
      end

      # The owner's pid as the ledger has it, which is +pid+ if there was none.
      def self.owner(ledger, pid)
        known = ledger.each_line(chomp: true).map { |line| line[/\Aowner (\d+)\z/, 1] }.compact.first
        append(ledger, "owner #{pid}") unless known
        known || pid
      end

      def self.append(ledger, line)
        ledger.seek(0, IO::SEEK_END)
        ledger.puts(line)
      end

      # @param path [String] a ledger
      # @return [Array<String>] the files that were written
      def self.written(path)
        File.readlines(path, chomp: true).map { |line| line[/\Awrote (.+)\z/, 1] }.compact
      end

      private

      def pid
        Process.pid.to_s
      end

      def take
        @env[Settings::OWNER] = pid
        true
      end

      # Never creates it. Without one the recording is over and the name has been used: false.
      def in_ledger
        File.open(@ledger, File::RDWR | File::BINARY) do |ledger|
          ledger.flock(File::LOCK_EX)
          yield ledger
        end
      rescue SystemCallError
        false
      end
    end
  end
end
