# frozen_string_literal: true

module Profiler
  # Makes way for an app that traps SIGPROF, calls exec, loads continuations or creates Ractors. The first session redefines
  # these methods.
  #
  # A hook has a method +call+. It gets the original method, the receiver and what the app passed.
  module Interop
    # An app's specs may put another module in its place.
    KERNEL = ::Kernel

    # Makes way for <tt>trap("PROF")</tt>: the signal is the app's from then on.
    module Trap
      def self.call(original, receiver, *arguments, **options, &block)
        Interop.make_way if Interop.prof?(arguments.first)
        original.bind_call(receiver, *arguments, **options, &block)
      end
    end

    # Disarms timers for exec: a signal would kill the new program.
    module Exec
      def self.call(original, receiver, ...)
        Interop.without_timers { original.bind_call(receiver, ...) }
      end
    end

    # Notices <tt>require "continuation"</tt>: callcc copies a stack over the running one, and a signal amid that would kill the
    # process. Later sessions sample at safe points.
    module Continuations
      def self.call(original, receiver, name)
        Native.give_up_to_callcc if name == :callcc
        original.bind_call(receiver, name)
      end
    end

    # Makes way for Ractor.new: before Ruby 3.3 the allocation hook would kill the process, and later frees are not reported.
    module NewRactor
      def self.call(original, receiver, ...)
        Native.give_up_objects
        original.bind_call(receiver, ...)
      end
    end

    class << self
      # Sets the hooks, once. A session may start in a trap, where no lock can be taken: {redefine} needs none.
      def watch
        return if @watching

        redefine(Kernel, trap: Trap, exec: Exec)
        redefine(Kernel.singleton_class, trap: Trap, exec: Exec, method_added: Continuations)
        redefine(Signal.singleton_class, trap: Trap)
        redefine(Process.singleton_class, exec: Exec)
        @watching = true
      end

      # Sets the hook for sessions that count objects, once.
      def watch_objects
        return if @watching_objects

        redefine(Ractor.singleton_class, new: NewRactor) if defined?(Ractor)
        @watching_objects = true
      end

      # Redefines methods so that they call hooks. Prepended modules would not do. An app's alias of a method would be the
      # prepended one, and call itself without end.
      #
      # @param owner [Module] Kernel, or a singleton class
      # @param hooks [Hash{Symbol => Module}] by the names of methods; the module may lack some
      def redefine(owner, **hooks)
        # A kill between the two steps of a hook would leave it without effect for good.
        Thread.handle_interrupt(Object => :never) do
          hooks.each { |name, hook| redefine_one(owner, name, hook) unless owner.frozen? }
        end
      end

      # Calls IO.popen. The block of this runs in a child of IO.popen("-"), after the app's own block.
      def popen(original, receiver, arguments, options, block)
        return original.bind_call(receiver, *arguments, **options, &block) if block.nil? || Platform.ractor_reason

        original.bind_call(receiver, *arguments, **options) do |io|
          block.call(io)
        ensure
          yield if io.nil? # this is the child
        end
      end

      # Finds the method that super of +owner+ would call. Ruby itself fails to, in an alias that was copied: delegate.rb copies
      # Kernel.
      #
      # @return [UnboundMethod]
      def inherited(owner, name)
        own_method(owner, name).super_method
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

      private

      # Keeps the original in its module, under another name. A Ractor may read it from there, but not from a closure. Clones of
      # the module have it too.
      def redefine_one(owner, name, hook)
        return unless visibility(owner, name)

        kept = "#{name} without #{hook.name}"
        original = own_method(owner, name)
        # Other threads, or a trap amid this, may set the same hook. What was read before this check is surely the original.
        return if owner.private_method_defined?(kept, false)

        holder = owner.singleton_class? ? "singleton_class" : "::Profiler::Interop::KERNEL"
        inherited = "::Profiler::Interop.inherited(#{holder}, :#{name})" unless original
        owner.class_eval { private(define_method(kept, original || proc {})) }
        owner.class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
          #{visibility(owner, name)}
          def #{name}(...)
            ::#{hook.name}.call(#{inherited || "#{holder}.instance_method(:'#{kept}')"}, self, ...)
          end
        RUBY
      end

      # Finds the method of +owner+ itself, even if the app has prepended a module that has one of that name.
      #
      # @return [UnboundMethod, nil] nil if +owner+ inherits it
      def own_method(owner, name)
        method = owner.instance_method(name)
        method = method.super_method until method.nil? || method.owner == owner
        method
      end

      # Has the method be as private as before from its first instant. A public one of Kernel would answer in place of a
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
