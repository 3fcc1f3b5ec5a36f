# frozen_string_literal: true

module Profiler
  module CLI
    # Runs a command as if the caller of this process had started it: signals are forwarded to it, and its exit status becomes ours.
    class ChildProcess
      SIGNALS = %w[INT TERM HUP QUIT USR1 USR2 CONT].freeze
      # The signals that a terminal's keys send to all processes in the foreground, so the command has received them already.
      FROM_KEYS = %w[INT QUIT].freeze
      # The signals that end a process. +timeout+ sends them to us and to our group, so we receive them twice, and the command has
      # one already. Three at once are more than Ruby can take before it runs blocks of +at_exit+.
      ENDS = %w[INT TERM HUP QUIT].freeze
      # Seconds in which another signal of the same kind is the same one.
      ONE_END = 0.5

      # @param env [Hash] for {Process.spawn}
      # @param command [Array<String>]
      def initialize(env, command)
        @env = env
        @command = command
        @pid = nil
        @early = []
        @forwarded = {}
      end

      # Runs the command to its end.
      #
      # @return [Process::Status]
      # @raise [Failure] with a shell's status when it cannot be started
      def run
        before = take_signals
        begin
          spawn
          forward_ignored(before)
          _pid, status = Process.wait2(@pid)
          status
        ensure
          @pid = nil # from here on the number may be another process's
          before.each { |signal, handler| trap(signal, handler || "DEFAULT") }
        end
      end

      # Returns the exit status that a shell would have.
      #
      # @param status [Process::Status]
      # @return [Integer]
      def self.exit_status(status)
        status.exitstatus || (128 + status.termsig)
      end

      # @param status [Process::Status] of a killed process
      # @return [String] SIGKILL, or the number of a signal without a name
      def self.signal_name(status)
        name = Signal.signame(status.termsig)
        name ? "SIG#{name}" : "signal #{status.termsig}"
      end

      private

      def spawn
        # The command is passed as a pair, so that no shell parses it.
        program, *arguments = @command
        @pid = Process.spawn(@env, [program, program], *arguments)
        forward(@early.shift) until @early.empty?
      rescue SystemCallError => e
        found = !e.is_a?(Errno::ENOENT)
        raise Failure.new("cannot run #{program.empty? ? "\"\"" : program}: #{found ? CLI.reason(e) : "command not found"}", status: found ? 126 : 127)
      end

      # @return [Hash] the previous handlers
      def take_signals
        SIGNALS.to_h do |signal|
          before = handle(signal)
          # The command inherits signals that we ignore (nohup, or INT in the background of a script); it would not inherit a
          # handler.
          trap(signal, before) if before == "IGNORE"
          [signal, before]
        end
      end

      # Forwards signals that the command inherited as ignored from now on, as it may handle them, like Puma.
      def forward_ignored(before)
        before.each { |signal, handler| handle(signal) if handler == "IGNORE" }
      end

      # @return [Object] the previous handler
      def handle(signal)
        before = trap(signal) { receive(signal) }
        Native.count_from_processes(Signal.list[signal]) if FROM_KEYS.include?(signal)
        before
      end

      def receive(signal)
        return if FROM_KEYS.include?(signal) && !Native.came_from_process?(Signal.list[signal])
        return if ENDS.include?(signal) && forwarded?(signal)

        @pid ? forward(signal) : @early << signal
      end

      def forwarded?(signal)
        now = Clock.now
        before, @forwarded[signal] = @forwarded[signal], now
        before && now - before < ONE_END
      end

      def forward(signal)
        Process.kill(signal, @pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil # it is over, or is another user's now
      end
    end
  end
end
