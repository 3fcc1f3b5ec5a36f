# frozen_string_literal: true

module Profiler
  # The ends and turns of this process, besides those that Ruby knows of: exec, exit!, a daemon, a child of IO.popen, a fork. The
  # modules are hooks as those of {Interop}. In a Ractor other than the main one nothing is done, as sessions are the main one's.
  #
  # A listener has some of these methods:
  #
  # * +process_ends(error)+: with the exception that ends it, or nil; {in_time} where it ends at once, as by +exit!+
  # * +around_exec+: runs its block, which returns only if another program cannot replace this one
  # * +becomes_daemon+: before a child continues, and this process ends in silence
  # * +forked(same)+: in a child; whether that child is this process, which became a daemon
  module Ends
    # Seconds that the end of a process can be delayed by.
    PATIENCE = 5

    # In the order of their begins. It is replaced and never changed, as a trap may listen.
    @listeners = []

    # Handles fork.
    module Fork
      def self.call(original, receiver)
        pid = original.bind_call(receiver)
        Ends.tell(:forked, false) if pid.equal?(0) && !Platform.ractor_reason
        pid
      end
    end

    # Handles Process.daemon, which forks by another way: the process ends, and a child of it continues.
    module Daemon
      def self.call(original, receiver, ...)
        return original.bind_call(receiver, ...) if Platform.ractor_reason

        Ends.tell(:becomes_daemon)
        original.bind_call(receiver, ...).tap { Ends.tell(:forked, true) }
      end
    end

    # Handles exec: another program replaces this one.
    module Exec
      def self.call(original, receiver, ...)
        Platform.ractor_reason ? original.bind_call(receiver, ...) : Ends.around_exec { original.bind_call(receiver, ...) }
      end
    end

    # Handles exit!: the process ends at once.
    module ExitNow
      def self.call(original, receiver, ...)
        Ends.at_once unless Platform.ractor_reason
        original.bind_call(receiver, ...)
      end
    end

    # Handles IO.popen("-") with a block: the child ends after the block as by exit!.
    module Popen
      def self.call(original, receiver, *arguments, **options, &block)
        Interop.popen(original, receiver, arguments, options, block) { Ends.at_once }
      end
    end

    class << self
      # Tells +listener+ of all ends and turns from now on.
      def listen(listener)
        return if @listeners.include?(listener)

        @listeners += [listener]
        Interop.redefine(Kernel, exec: Exec, exit!: ExitNow)
        Interop.redefine(Kernel.singleton_class, exec: Exec, exit!: ExitNow)
        Interop.redefine(Process.singleton_class, _fork: Fork, daemon: Daemon, exec: Exec, exit!: ExitNow)
        Interop.redefine(IO.singleton_class, popen: Popen)
        at_exit { tell_one(listener, :process_ends, $!) } # English would have to be loaded
      end

      # @api private
      def tell(event, *arguments)
        @listeners.reverse_each { |it| tell_one(it, event, *arguments) }
      end

      # @api private
      def at_once
        in_time { tell(:process_ends, nil) }
      end

      # @api private
      def around_exec(&exec)
        hearing = @listeners.select { |it| it.respond_to?(:around_exec) }
        hearing.reduce(exec) { |inner, it| -> { it.around_exec(&inner) } }.call
      end

      # Runs the block, whose native work is abandoned after {PATIENCE}, or after the rest of that where it is called inside. Signals do not end it: the process ends anyway.
      #
      # @yieldparam till [Float] the end of the patience, on {Clock.now}
      def in_time
        outer = @till
        Native.hurry(PATIENCE) unless outer
        @till ||= Clock.now + PATIENCE
        Thread.handle_interrupt(SignalException => :never) { yield @till }
      ensure
        Native.hurry(nil) unless outer
        @till = outer
      end

      private

      def tell_one(listener, event, *arguments)
        listener.public_send(event, *arguments) if listener.respond_to?(event)
      end
    end
  end
end
