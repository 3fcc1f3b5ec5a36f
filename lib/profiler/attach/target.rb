# frozen_string_literal: true

require_relative "../process/user"

module Profiler
  module Attach
    # A process to attach to, as the kernel describes it.
    class Target
      # The signals that Ruby handles once it has started.
      RUBYS = [Signal.list.fetch("SEGV"), Signal.list.fetch("VTALRM")].freeze
      # The numbers of which one stands for a signal that nobody uses.
      SPARE = (50..62).to_a.reverse.freeze
      # A Ruby younger than this, in seconds, may still be starting.
      MIN_AGE = 2.0
      YAMA = "/proc/sys/kernel/yama/ptrace_scope"
      X86_64 = 62
      private_constant :RUBYS, :SPARE, :YAMA, :X86_64

      # @return [Integer] the number of the process here
      attr_reader :pid

      # @param pid [Integer]
      # @raise [Refused] if there is no such process
      def initialize(pid)
        @pid = pid
        read
      end

      # Returns the number of the process in its own namespace.
      #
      # @return [Integer]
      def own_pid = Integer(field("NSpid").split.last || pid)

      # @return [Integer]
      def uid = Integer(field("Uid").split[1])

      # @return [String] the file of its program
      def program = File.readlink("/proc/#{pid}/exe").delete_suffix(" (deleted)")

      # Returns a signal that the process does not handle.
      #
      # @return [Integer]
      # @raise [Refused]
      def spare_signal
        SPARE.find { |number| !handles?(number) } or raise Refused, "it handles all signals from #{SPARE.last} to #{SPARE.first}"
      end

      # @raise [Refused] if it is impossible to attach to the process
      # @raise [NotYet] if it may be possible later
      def check
        read
        check_state
        check_access
        check_program
        check_start
      rescue Errno::ENOENT, Errno::ESRCH
        raise Refused, "it has ended"
      end

      # Returns the path of a file, if the process sees the same file there.
      #
      # @param path [String]
      # @return [String]
      # @raise [Refused] if it does not see the same file
      def require_visible(path)
        seen = "/proc/#{pid}/root#{path}"
        return path if same?(path, seen)
        return path if File.file?(seen) && File.size(seen) == File.size(path) && FileUtils.identical?(seen, path)

        raise Refused, "it cannot see #{path}, probably because it runs in a container: install the gem there, and run profiler attach #{own_pid} inside " \
                       "(docker exec, kubectl exec)"
      rescue SystemCallError => e
        raise Refused, "its files cannot be seen (#{e.message})"
      end

      private

      def read
        @status = File.read("/proc/#{pid}/status", encoding: Encoding::BINARY)
      rescue Errno::ENOENT, Errno::ESRCH
        raise Refused, "there is no such process"
      end

      def field(name) = @status[/^#{name}:\s*(.*)$/, 1].to_s

      def handles?(number) = field("SigCgt").to_i(16)[number - 1] == 1

      def check_state
        case field("State")[0]
        when "Z", "X" then raise Refused, "it has ended, and its parent has not waited for it yet"
        when "T" then raise Refused, "it is stopped: continue it first (kill -CONT #{pid})"
        end
        raise Refused, "that is this command itself" if pid == Process.pid

        Dir.children("/proc/#{pid}/task").each { |thread| refuse_traced(thread) }
      end

      def refuse_traced(thread)
        tracer = File.read("/proc/#{pid}/task/#{thread}/status", encoding: Encoding::BINARY)[/^TracerPid:\s*(\d+)/, 1].to_i
        return if tracer.zero?

        name = Losses.harmless(File.binread("/proc/#{tracer}/comm").chomp) rescue "unknown" # rubocop:disable Style/RescueModifier
        raise Refused, "its thread #{thread} is being traced by process #{tracer} (#{name}): end that one first"
      rescue Errno::ENOENT, Errno::ESRCH
        nil # the thread has ended
      end

      # Opens what only a process that may trace can open.
      def check_access
        File.open("/proc/#{pid}/mem", "r+", &:close)
      rescue Errno::EACCES, Errno::EPERM, Errno::EROFS
        raise Refused, why_forbidden
      end

      def why_forbidden
        root = Process.euid.zero?
        unless root || uid == Process.euid
          return "it belongs to #{ProcessUser.of(pid)}: run this command as #{ProcessUser.and_root(pid)} (sudo profiler attach #{pid})"
        end

        scope = File.read(YAMA).to_i rescue 0 # rubocop:disable Style/RescueModifier
        return "the kernel lets no process be traced (kernel.yama.ptrace_scope=3) until it is restarted" if scope == 3
        return "root has no right to trace here: give the container CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)" if root
        return "it is not dumpable, so only root can trace it: use sudo" unless File.stat("/proc/#{pid}/mem").uid == uid
        if scope.positive?
          return "the kernel lets only root trace it (kernel.yama.ptrace_scope=#{scope}): use sudo, or sysctl kernel.yama.ptrace_scope=0 for now"
        end

        "the kernel does not let this user trace it (another group, capabilities or a security module): use sudo"
      end

      def check_program
        head = File.binread("/proc/#{pid}/exe", 20).to_s
        raise Refused, "it is a 32-bit program, and only 64-bit programs are supported" if head.getbyte(4) == 1
        raise Refused, "it is not a program for x86-64: no other processor is supported" unless head.unpack1("@18S<") == X86_64
        raise Refused, "it is in seccomp's strict mode, in which a thread can load nothing" if field("Seccomp").to_i == 1
        raise Refused, "its threads have shadow stacks, which are not supported" if field("x86_Thread_features").split.include?("shstk")
      rescue Errno::EACCES, Errno::ENOENT => e
        raise Refused, "its program cannot be read (#{e.message})"
      end

      def check_start
        raise NotYet, "it has only just started" if age < MIN_AGE
        raise NotYet, "Ruby is still starting in it, or shutting down" unless RUBYS.all? { |number| handles?(number) }
      end

      # Returns the seconds since its start.
      def age
        ticks = File.binread("/proc/#{pid}/stat").rpartition(")").last.split[19].to_f
        File.read("/proc/uptime").to_f - (ticks / Etc.sysconf(Etc::SC_CLK_TCK))
      end

      def same?(path, seen)
        ours, theirs = [path, seen].map { |it| File.stat(it) }
        [ours.dev, ours.ino] == [theirs.dev, theirs.ino]
      rescue Errno::ENOENT
        false
      end
    end
  end
end
