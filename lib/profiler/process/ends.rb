# frozen_string_literal: true

module Profiler
  # Notifies listeners when this process calls exec or exit!, becomes a daemon, forks, or is a child of IO.popen. The methods
  # are redefined as in {Interop}. In a Ractor other than the main one it does nothing, because sessions belong to the main one.
  #
  # A listener has some of these methods:
  #
  # * +process_ends(error)+: called with the exception that ends the process, or nil; by {in_time} if it ends at once, as with
  #   +exit!+
  # * +around_exec+: runs its block, which returns only if another program cannot replace this one
  # * +becomes_daemon+: called before a child continues, and this process ends silently
  # * +forked(same)+: called in a child; +same+ is true if that child is this process, which became a daemon
  #
  # +at_exit+ covers most ends; these hooks catch those that bypass it. <tt>open("|-")</tt> with a block is not covered.
  # Listeners are the recording of the process, the blocks of <tt>run(out:)</tt>, the deadlines of requests, and endless
  # sessions.
  module Ends
    # The longest delay of the end of a process, in seconds.
    PATIENCE = 5

    # Errors of a listener, which are rescued and never reach the app. A file that cannot be loaded any more raises a
    # ScriptError. If another thread raises one of these here meanwhile, it is deferred.
    OF_LISTENERS = [StandardError, ScriptError, NoMemoryError, SystemStackError].to_h { |it| [it, :never] }.freeze
    private_constant :OF_LISTENERS

    @losses = Losses.new("the profiler failed as the process ended, forked or called exec")

    # Ordered by start; compared by identity, so lookups run no Ruby code: a trap may listen, and a trap can take no lock.
    @listeners = {}.compare_by_identity

    # Replacements of methods, as {Interop::Hooks}.
    module Hooks
      class << self
        def _fork(original, receiver)
          pid = original.bind_call(receiver)
          Ends.tell(:forked, false) if pid.equal?(0) && !Platform.ractor_reason
          pid
        end

        # Handles the other way to fork: this process ends, and a child of it continues.
        def daemon(original, receiver, ...)
          return original.bind_call(receiver, ...) if Platform.ractor_reason

          Ends.tell(:becomes_daemon)
          original.bind_call(receiver, ...).tap { Ends.tell(:forked, true) }
        end

        def exec(original, receiver, ...)
          Platform.ractor_reason ? original.bind_call(receiver, ...) : Ends.around_exec { original.bind_call(receiver, ...) }
        end

        def exit!(original, receiver, ...)
          Ends.at_once unless Platform.ractor_reason
          original.bind_call(receiver, ...)
        end

        # Notifies the listeners in the child of IO.popen("-"), which ends after the block as if it called exit!.
        def popen(original, receiver, *arguments, **options, &block)
          return original.bind_call(receiver, *arguments, **options, &block) if block.nil? || Platform.ractor_reason

          original.bind_call(receiver, *arguments, **options) do |io|
            block.call(io)
          ensure
            Ends.at_once if io.nil? # this is the child
          end
        end
      end
    end

    class << self
      # Notifies +listener+ from now on when the process forks, execs, daemonizes or exits.
      def listen(listener)
        return if @listeners.key?(listener)

        redefine_methods
        at_exit { Thread.handle_interrupt(SignalException => :never) { end_of_process(listener, $!) } } # English would have to be loaded
        @listeners[listener] = true
      end

      # Redefines the methods for {listen}. A recording does so before its session starts, which would show it as the program's work.
      def redefine_methods
        Interop.redefine(Hooks, Kernel, :exec, :exit!)
        Interop.redefine(Hooks, Kernel.singleton_class, :exec, :exit!)
        Interop.redefine(Hooks, Process.singleton_class, :_fork, :daemon, :exec, :exit!)
        Interop.redefine(Hooks, IO.singleton_class, :popen)
      end

      # @api private
      def tell(event, *arguments)
        @listeners.keys.reverse_each { |it| tell_one(it, event, *arguments) }
      end

      # Notifies a listener of the end of the process. A second signal may come before the listener of the first one has begun. A
      # process that ends otherwise can be interrupted.
      #
      # @api private
      def end_of_process(listener, error)
        return tell_one(listener, :process_ends, error) if error.is_a?(SignalException)

        Thread.handle_interrupt(SignalException => :immediate) { tell_one(listener, :process_ends, error) }
      end

      # @api private
      def at_once = in_time { tell(:process_ends, nil) }

      # @api private
      def around_exec(&exec)
        raised = nil
        called = false
        own = lambda do
          called = true
          exec.call
        rescue Exception => e # rubocop:disable Lint/RescueException -- it is raised again
          raised = e
          raise
        end
        hearing = @listeners.keys.select { |it| it.respond_to?(:around_exec) }
        begin
          hearing.reduce(own) { |inner, it| -> { it.around_exec(&inner) } }.call
        rescue *OF_LISTENERS.keys => e
          @losses.add(e) unless e.equal?(raised)
        end
        raise raised if raised

        exec.call unless called # a listener failed before
      end

      # Runs the block, and abandons its native work after +patience+ seconds. A nested call gets the time that is left. Signals do not
      # interrupt the block, as the process ends anyway.
      #
      # @yieldparam till [Float] when the patience ends, on {Clock.now}
      def in_time(patience = PATIENCE)
        outer = @till
        Native.set_deadline(patience) unless outer
        hold_interrupts unless outer
        @till ||= Clock.now + patience
        Thread.handle_interrupt(SignalException => :never) { yield @till }
      ensure
        Native.set_deadline(nil) unless outer
        Native.hold_interrupts(false) unless outer
        @till = outer
      end

      private

      # Holds interrupts back. Ruby raises Interrupt even where it is masked. One may be pending already, so an empty block is
      # called, at whose end Ruby checks for it. The GVL is kept until then, as getting it back would take a turn of each other
      # thread.
      def hold_interrupts
        Native.hold_interrupts(true)
        1.times {} # rubocop:disable Lint/EmptyBlock
      rescue Interrupt
        nil
      end

      def tell_one(listener, event, *arguments)
        return unless listener.respond_to?(event)

        Losses.own(OF_LISTENERS, @losses.method(:add)) { listener.public_send(event, *arguments) }
      end
    end
  end
end
