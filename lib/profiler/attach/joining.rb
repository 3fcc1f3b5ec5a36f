# frozen_string_literal: true

module Profiler
  module Attach
    # The result of attaching to a process: the seconds that it took, and for how many nanoseconds one thread of it was stopped,
    # each time.
    Joined = Struct.new(:seconds, :stops)

    # An attempt to attach to a process: asks it, wakes it, and asks again, until it answers or the time is over.
    class Joining
      # The states of a request: core/attach/request.rs.
      IDLE, WANTED, TAKEN, LOADING, DONE, FAILED, NOT_LOADED = (0..6).to_a
      # The pauses between two attempts, in seconds: they double.
      PAUSES = (0.001..0.2).freeze
      # The pause before the state is read again.
      LOOK = 0.0005
      # The minimum time to wait for a process that has begun to load the profiler, in seconds. If other threads compute, it waits
      # for the GVL again and again.
      LOADS = 120.0
      private_constant :IDLE, :WANTED, :TAKEN, :LOADING, :DONE, :FAILED, :NOT_LOADED, :PAUSES, :LOOK, :LOADS

      # @param pid [Integer]
      # @param patience [Numeric] seconds
      def initialize(pid, patience)
        @target = Target.new(pid)
        @patience = patience
        @began = Clock.now
        @till = @began + patience
        @stops = []
      end

      # @return [Joined]
      # @raise [Refused]
      def run
        prepare
        ask
        finish
        Joined.new(Clock.now - @began, @stops)
      ensure
        let_go
      end

      private

      # Lets other commands attach to the process. A request that an interrupt has left is withdrawn.
      def let_go
        @attachment&._withdraw if @asked
        @attachment&._release
      rescue Error
        nil # the process has ended
      end

      # Waits for a process that has only just started, or to which another command attaches.
      def prepare
        until_possible { @target.check }
        @attachment = until_possible { native { Attachment._new(@target.pid) } }
        library = @target.require_visible(library_of(*@attachment._ruby))
        script = @target.require_visible(File.expand_path("../attached.rb", __dir__))
        until_possible { native { @attachment._prepare(@target.own_pid, library, script, @target.spare_signal) } }
      end

      def until_possible
        yield
      rescue NotYet
        raise if Clock.now > @till

        sleep 0.05
        retry
      end

      # Runs native code, whose errors begin with "it".
      def native
        yield
      rescue Unsupported => e
        raise Refused, e.message
      rescue Error => e
        raise e.is_a?(Refused) ? e : NotYet.new(e.message)
      end

      # Returns the extension for that Ruby.
      def library_of(version, platform)
        ruby = version[/\A\d+\.\d+/]
        raise Refused, "its C library is musl (#{platform}), and only glibc is supported" if platform.include?("musl")
        raise Refused, "it runs Ruby #{version}, and this was tested only with #{RUBIES.join(", ")}" unless RUBIES.include?(ruby)

        Platform.extension_for(ruby) or raise Refused, "it runs Ruby #{version}, and this gem has no extension for that: install the gem with that Ruby, " \
                                                       "and run its command"
      end

      # Asks and wakes in turn: the request goes to the thread that ran last, and only the main thread can be woken.
      def ask
        pause = PAUSES.begin
        wake = false
        @asked = true
        loop do
          act(wake)
          return unless wanted?(pause)
          return withdraw if Clock.now > @till

          wake = !wake
          pause = [pause * 1.5, PAUSES.end].min
        end
      end

      def act(wake)
        @stops << native { wake ? @attachment._wake : @attachment._ask([@till - Clock.now, 1.0].max) }
      rescue NotYet
        nil # the next attempt may find a thread
      end

      # Waits, and returns whether the process has still not begun.
      def wanted?(seconds)
        till = Clock.now + seconds
        loop do
          return false unless [IDLE, WANTED].include?(state)
          return true if Clock.now > till

          sleep LOOK
        end
      end

      def state = native { @attachment._state }.first

      def withdraw
        withdrawn = native { @attachment._withdraw }
        return unless withdrawn || state == IDLE

        raise Refused, "it did not answer within #{@patience.round} s, because it runs no Ruby code (a C function keeps the GVL, or it reads " \
                       "a file that does not answer): the request was withdrawn. profiler dump --outside #{@target.pid} shows what the kernel knows"
      end

      # Waits until the control socket is open.
      def finish
        till = [@till, Clock.now + LOADS].max
        sleep LOOK while [TAKEN, LOADING].include?(state) && Clock.now < till
        number, message = native { @attachment._state }
        case number
        when DONE then nil
        when FAILED then raise Refused, "it could not load the profiler: #{message.scrub("?").tr("\n", " ")}"
        when NOT_LOADED then raise Refused, "it could not load the extension: check that its user may read the file, and that it has the same C library"
        else raise Refused, "it has begun to load the profiler, but was not ready after #{(till - @began).round} s: profiler ps shows whether it is by now"
        end
      end
    end
  end
end
