# frozen_string_literal: true

module Profiler
  # Makes way for an app that traps SIGPROF, calls exec, loads continuations or creates Ractors. The first session prepends
  # these modules.
  module Interop
    # Makes way for <tt>trap("PROF")</tt>: the signal is the app's from then on.
    module Trap
      def trap(signal, *handler, &block)
        Interop.make_way if Interop.prof?(signal)
        super
      end
    end

    # Disarms timers for exec: a signal would kill the new program.
    module Exec
      def exec(...)
        Interop.without_timers { super(...) }
      end
    end

    # Notices <tt>require "continuation"</tt>: callcc copies a stack over the running one, and a signal amid that would kill the
    # process. Later sessions sample at safe points.
    module Continuations
      def method_added(name)
        Native.give_up_to_callcc if name == :callcc
        super
      end
    end

    # Makes way for Ractor.new: before Ruby 3.3 the allocation hook would kill the process, and later frees are not reported.
    module NewRactor
      def new(...)
        Native.give_up_objects
        super
      end
    end

    class << self
      # Prepends the modules, once.
      def watch
        return if @watching

        @watching = true
        Kernel.prepend(inside(Trap), inside(Exec))
        Kernel.singleton_class.prepend(Trap, Exec)
        Signal.singleton_class.prepend(Trap)
        Process.singleton_class.prepend(Exec)
        Kernel.singleton_class.prepend(Continuations)
      end

      # Prepends the module for sessions that count objects, once.
      def watch_objects
        return if @watching_objects

        @watching_objects = true
        Ractor.singleton_class.prepend(NewRactor) if defined?(Ractor)
      end

      # Makes the methods of +functions+ private, as Ruby's own are in every object. Public ones would answer in place of a
      # method_missing.
      #
      # @param functions [Module]
      # @return [Module]
      def inside(functions)
        Module.new do
          include functions
          private(*functions.instance_methods)
        end
      end

      # Whether +signal+ means SIGPROF, in any of the forms that trap accepts.
      def prof?(signal)
        name = signal.is_a?(Integer) ? Signal.signame(signal) : signal.to_s.delete_prefix("SIG")
        name == "PROF"
      rescue StandardError
        false # not a signal: trap itself says so
      end

      # Ends recording in running sessions. They keep their samples.
      def make_way
        Native.give_up
      end

      # Runs the block, which does not return if it succeeds, without timers.
      def without_timers
        Native.disarm
        yield
      ensure
        Native.rearm
      end
    end
  end
end
