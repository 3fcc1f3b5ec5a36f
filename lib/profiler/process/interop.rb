# frozen_string_literal: true

module Profiler
  # Yields to an app that traps SIGPROF, calls exec, loads continuations or creates Ractors. The first session redefines these
  # methods.
  module Interop
    # An app's specs may put another module in its place.
    KERNEL = ::Kernel

    # Methods that replace those of the same names. They receive the original method, the receiver and the app's arguments.
    module Hooks
      class << self
        # Replaces <tt>trap("PROF")</tt>: from then on, the signal belongs to the app. Running sessions keep their samples.
        def trap(original, receiver, *arguments, **options, &block)
          Native.give_up if Interop.prof?(arguments.first)
          original.bind_call(receiver, *arguments, **options, &block)
        end

        # Calls exec with all timers disarmed, because a signal would kill the new program. Returns only if exec fails.
        def exec(original, receiver, ...)
          Native.disarm
          original.bind_call(receiver, ...)
        ensure
          Native.rearm
        end

        # Notices <tt>require "continuation"</tt>: callcc copies a stack over the running one, and a signal during that would kill
        # the process. Later sessions sample at safe points.
        def method_added(original, receiver, name)
          Native.give_up_to_callcc if name == :callcc
          original.bind_call(receiver, name)
        end

        # Replaces Ractor.new: before Ruby 3.3, the allocation hook would kill the process, and with a Ractor, frees are no longer
        # reported.
        def new(original, receiver, ...)
          Native.give_up_objects
          original.bind_call(receiver, ...)
        end
      end
    end

    class << self
      # Installs the hooks, once. A session may start in a trap, where no lock can be taken: {redefine} needs none.
      def watch
        return if @watching

        redefine(Hooks, Kernel, :trap, :exec)
        redefine(Hooks, Kernel.singleton_class, :trap, :exec, :method_added)
        redefine(Hooks, Signal.singleton_class, :trap)
        redefine(Hooks, Process.singleton_class, :exec)
        @watching = true
      end

      # Sets the hook for sessions that count objects, once.
      def watch_objects
        return if @watching_objects

        redefine(Hooks, Ractor.singleton_class, :new) if defined?(Ractor)
        @watching_objects = true
      end

      # Redefines methods so that they call hooks. Prepended modules would not do. An app's alias of a method would be the
      # prepended one, and call itself without end.
      #
      # @param hooks [Module] it has methods of these names
      # @param owner [Module] Kernel, or a singleton class; it may lack some
      def redefine(hooks, owner, *names)
        # A kill between the two steps of a hook would leave it without effect for good.
        Thread.handle_interrupt(Object => :never) do
          names.each { |name| redefine_one(hooks, owner, name) unless owner.frozen? }
        end
      end

      # Finds the method of +owner+ itself, even if the app has prepended a module that has one of that name.
      #
      # @return [UnboundMethod, nil] nil if +owner+ inherits it
      def own_method(owner, name)
        method = owner.instance_method(name)
        method = method.super_method until method.nil? || method.owner == owner
        method
      end

      # Finds the method that super of +owner+ would call. Ruby itself fails to, in an alias that was copied: delegate.rb copies
      # Kernel.
      def inherited(owner, name) = own_method(owner, name).super_method

      # Returns whether +signal+ means SIGPROF, in any of the forms that trap accepts.
      def prof?(signal)
        name = signal.is_a?(Integer) ? Signal.signame(signal) : signal.to_s.delete_prefix("SIG")
        name == "PROF"
      rescue StandardError
        false # not a signal: trap itself says so
      end

      private

      # Keeps the original in its module, under another name. A Ractor may read it from there, but not from a closure. Clones of
      # the module have it too.
      def redefine_one(hooks, owner, name)
        return unless visibility(owner, name)

        kept = "#{name} without #{hooks.name}"
        original = own_method(owner, name)
        # Other threads, or a trap that interrupts this, may install the same hook. What was read before this check is certainly
        # the original.
        return if owner.private_method_defined?(kept, false)

        holder = owner.singleton_class? ? "singleton_class" : "Interop::KERNEL"
        inherited = "Interop.inherited(#{holder}, :#{name})" unless original
        owner.class_eval { private(define_method(kept, original || proc {})) }
        owner.class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
          #{visibility(owner, name)}
          def #{name}(...)
            #{hooks.name.delete_prefix("Profiler::")}.#{name}(#{inherited || "#{holder}.instance_method(:'#{kept}')"}, self, ...)
          end
        RUBY
      end

      # Gives the method its previous visibility from the first instant. A public method of Kernel would take precedence over a
      # method_missing.
      #
      # @return [String, nil] nil if there is no such method
      def visibility(owner, name)
        return "private" if owner.private_method_defined?(name)

        "public" if owner.method_defined?(name)
      end
    end
  end
end
