# frozen_string_literal: true

module Profiler
  # What an app can do that a running session must make way for. Put before Ruby's own methods by the first
  # session, and not before.
  module Interop
    # trap("PROF"): the signal is the app's from then on.
    module Trap
      def trap(signal, *handler, &block)
        Interop.make_way if Interop.prof?(signal)
        super
      end
    end

    # exec: a timer that is still armed would kill the program that takes our place.
    module Exec
      def exec(...)
        Interop.without_timers { super(...) }
      end
    end

    # require "continuation": callcc copies a stack over the one that runs, and a tick in the middle of that would kill the process.
    # Sessions that begin later take stacks at safe points.
    module Continuations
      def method_added(name)
        Session.send(:_give_up_to_callcc) if name == :callcc
        super
      end
    end

    # Ractor.new: before Ruby 3.3 the hook on allocation would kill the process, and what is freed is not told after it.
    module NewRactor
      def new(...)
        Session.send(:_give_up_objects)
        super
      end
    end

    class << self
      # Puts them in place, once.
      def watch
        return if @watching

        @watching = true
        Kernel.prepend(inside(Trap), inside(Exec))
        Kernel.singleton_class.prepend(Trap, Exec)
        Signal.singleton_class.prepend(Trap)
        Process.singleton_class.prepend(Exec)
        Kernel.singleton_class.prepend(Continuations)
      end

      # The same for what a session that looks at objects must make way for.
      def watch_objects
        return if @watching_objects

        @watching_objects = true
        Ractor.singleton_class.prepend(NewRactor) if defined?(Ractor)
      end

      # The methods of +functions+ for inside of every object, where Ruby has its own private: as public
      # ones they would answer in place of many a method_missing.
      #
      # @param functions [Module]
      # @return [Module]
      def inside(functions)
        Module.new do
          include functions
          private(*functions.instance_methods)
        end
      end

      # Whether +signal+ means SIGPROF, in any of the ways that trap takes.
      def prof?(signal)
        name = signal.is_a?(Integer) ? Signal.signame(signal) : signal.to_s.delete_prefix("SIG")
        name == "PROF"
      rescue StandardError
        false # not a signal: trap itself says so
      end

      # Running sessions keep what they have and take nothing more.
      def make_way
        Session.send(:_give_up)
      end

      # Runs the block, which does not come back if it succeeds, without a timer of ours.
      def without_timers
        Session.send(:_disarm)
        yield
      ensure
        Session.send(:_rearm)
      end
    end
  end
end
