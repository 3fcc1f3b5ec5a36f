# frozen_string_literal: true

module Profiler
  module InLibraries
    # Wraps methods of libraries in their own classes. A prepended module would not do: other libraries wrap the same methods by
    # +alias_method+. Their alias would be the prepended method, and call itself without end.
    module Wrapping
      class << self
        # Redefines a method of a class, once. It then calls the method of that name of +hooks+ with the receiver, the arguments, and
        # a block that calls the original.
        #
        # @param owner [Class]
        # @param name [Symbol]
        # @param hooks [Module]
        # @param inherited [Boolean] whether the class may inherit the method; a file that is being loaded may define it later
        # @return [Symbol, nil] +:later+ if the class does not have the method
        def wrap(owner, name, hooks, inherited: false)
          kept = :"#{name} without Profiler"
          return if owner.private_method_defined?(kept, false)

          visibility = %w[public protected private].find { |level| owner.public_send(:"#{level}_method_defined?", name) }
          original = Interop.own_method(owner, name) if visibility
          return LATER unless original || (inherited && visibility)

          # A kill between the two steps would leave the method without its hook.
          Thread.handle_interrupt(Object => :never) do
            owner.class_eval { private(define_method(kept, original || proc {})) }
            owner.class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
              #{visibility} def #{name}(*arguments, &block)
                #{hooks.name.delete_prefix("Profiler::")}.#{name}(self, *arguments) { #{original ? "__send__(:'#{kept}', *arguments, &block)" : "super(*arguments, &block)"} }
              end
              ruby2_keywords(:#{name})
            RUBY
          end
        end
      end
    end
  end
end
