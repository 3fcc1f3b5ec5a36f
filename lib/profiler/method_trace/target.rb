# frozen_string_literal: true

module Profiler
  class MethodTrace
    # A method that can be traced: one that is written in Ruby, or a C function. No code of the app is called to find it.
    class Target
      # +Foo::Bar#baz+ or +Foo::Bar.baz+.
      NAME = /\A(?<module>(?:::)?[[:upper:]]\w*(?:::[[:upper:]]\w*)*)(?<kind>[#.])(?<method>[^\s#.].*)\z/.freeze
      # Ruby's own methods, even if an app has replaced them for its classes.
      CONST_DEFINED = Module.instance_method(:const_defined?)
      CONST_GET = Module.instance_method(:const_get)
      AUTOLOAD = Module.instance_method(:autoload?)
      INSTANCE_METHOD = Module.instance_method(:instance_method)
      INSTANCE_METHODS = Module.instance_method(:instance_methods)
      PRIVATE_METHODS = Module.instance_method(:private_instance_methods)
      SINGLETON = Kernel.instance_method(:singleton_class)
      CLASS = Kernel.instance_method(:class)
      # The events in the code of a method or block at which it returns.
      RETURNS = %i[return b_return].freeze
      # The name of an argument, but for those of +*+, +**+, +&+ and +...+.
      ARGUMENT = /\A[[:alpha:]_]/.freeze
      private_constant :ARGUMENT, :NAME, :CONST_DEFINED, :CONST_GET, :AUTOLOAD, :INSTANCE_METHOD, :INSTANCE_METHODS, :PRIVATE_METHODS, :SINGLETON, :CLASS, :RETURNS

      class << self
        # @param method [String, Method, UnboundMethod]
        # @return [Target]
        # @raise [ArgumentError] if there is no such method, or it can have no TracePoint
        def of(method)
          case method
          when Method, UnboundMethod then new(method)
          when String then new(find(method))
          else raise ArgumentError, "#{described(method)} is not a method (allowed: a name such as \"Order#save\" or \"Order.find\", a Method, an UnboundMethod)"
          end
        end

        # Returns whether a name stands for several methods: it has a +*+, and there is no method of just that name.
        #
        # @raise [ArgumentError] if there is no such class or module
        def pattern?(method)
          match = parsed(method) if String === method # rubocop:disable Style/CaseEquality -- it may be a BasicObject
          return false unless match && match[:method].include?("*")

          INSTANCE_METHOD.bind_call(owner_of(method, match), match[:method])
          false
        rescue NameError
          true
        end

        # Finds the methods that a pattern stands for, of those that the class or module itself defines.
        #
        # @param pattern [String]
        # @return [Array(Array<Target>, Integer)] one target for each code, and the number of methods that are not written in Ruby
        # @raise [ArgumentError] if there is no such method
        def matching(pattern)
          match = parsed(pattern)
          owner = owner_of(pattern, match)
          form = /\A#{match[:method].split("*", -1).map { |part| Regexp.escape(part) }.join(".*")}\z/
          names = [INSTANCE_METHODS, PRIVATE_METHODS].flat_map { |list| list.bind_call(owner, false) }.grep(form).sort
          raise ArgumentError, "#{pattern.inspect}: #{match[:module]} itself defines no such method" if names.empty?

          targets = names.filter_map { |name| of_ruby(INSTANCE_METHOD.bind_call(owner, name)) }
          [targets.uniq { |target| target.code.object_id }, names.size - targets.size]
        end

        private

        def of_ruby(method) = RubyVM::InstructionSequence.of(method) && new(method)

        def parsed(text) = (NAME.match(text) if text.valid_encoding? && text.encoding.ascii_compatible?)

        def owner_of(text, match)
          owner = match[:module].delete_prefix("::").split("::").inject(Object) { |outer, name| constant(text, outer, name) }
          match[:kind] == "." ? SINGLETON.bind_call(owner) : owner
        end

        # Returns the value, or its class if code of the app decides how the value looks.
        def described(value)
          case value
          when nil, true, false, Symbol, Integer, Float then value.inspect
          else "an object of #{Native.class_name(CLASS.bind_call(value))}"
          end
        end

        def find(text)
          match = parsed(text)
          raise ArgumentError, "#{text.inspect} is not the name of a method (allowed: names such as \"Order#save\" and \"Order.find\")" unless match

          owner = owner_of(text, match)
          begin
            INSTANCE_METHOD.bind_call(owner, match[:method])
          rescue NameError
            known = [INSTANCE_METHODS, PRIVATE_METHODS].flat_map { |list| list.bind_call(owner) }.map(&:to_s)
            raise ArgumentError, "#{text.inspect}: #{match[:module]} has no such method#{hint(match[:method], known)}"
          end
        end

        def constant(text, outer, name)
          found = CONST_DEFINED.bind_call(outer, name, outer.equal?(Object))
          raise ArgumentError, "#{text.inspect}: there is no #{name} here#{hint(name, outer.constants.map(&:to_s))}" unless found
          # Getting it would run the app's code.
          raise ArgumentError, "#{text.inspect}: #{name} is not loaded yet" if AUTOLOAD.bind_call(outer, name, false)

          value = CONST_GET.bind_call(outer, name, outer.equal?(Object))
          raise ArgumentError, "#{text.inspect}: #{name} is not a class or module" unless Module === value # rubocop:disable Style/CaseEquality -- a proxy may answer is_a?

          value
        end

        def hint(name, known)
          nearest = Nearest.of(name, known)
          nearest ? " (did you mean #{nearest}?)" : ""
        end
      end

      # @return [String] as in profiles
      attr_reader :name

      # @return [Array<String>] the names of the arguments that have one, without the block
      attr_reader :arguments

      # @param method [Method, UnboundMethod]
      def initialize(method)
        @method = method
        @arguments = method.parameters.filter_map { |kind, name| name&.name unless kind == :block }.grep(ARGUMENT)
        @name = Profiler.name_of(method)
        @code = RubyVM::InstructionSequence.of(method)
        @c_function = [method.owner, method.original_name].freeze unless @code
        # What attr_reader and the like make has a place, too.
        raise ArgumentError, "#{@name} is made by attr_reader or the like, so its calls are not seen: trace the method that calls it" if @c_function && method.source_location

        events = @code ? @code.trace_points : []
        @block = events.any? { |_line, event| event == :b_call }
        @return_lines = events.select { |_line, event| RETURNS.include?(event) }.map(&:first).uniq
        @lines = events.map(&:first).uniq.size
      end

      # @return [RubyVM::InstructionSequence, nil] its code, the same object for the same code; nil for a C function
      attr_reader :code

      # @return [Array(Module, Symbol), nil] the owner and the original name of a C function
      attr_reader :c_function

      # Returns whether several TracePoints can be set on the method. Before Ruby 3.3, a second one on a method of
      # +define_method+ replaces the first, and the end of both crashes the process.
      def shareable? = RUBY_VERSION >= "3.3" || !@block

      # @return [String, nil] its file
      def path = @code&.absolute_path

      # @return [Array] what the native part is to know: the lines at which the method returns, whether it is on one line only, and
      #   {#c_function}
      def traits = [@return_lines, @lines < 2, @c_function]

      # @param tracepoint [TracePoint]
      def enable(tracepoint)
        tracepoint.enable(target: @method)
      end

      # @param tracepoint [TracePoint] of events at lines
      def enable_lines(tracepoint)
        tracepoint.enable(target: @method)
      rescue ArgumentError
        raise ArgumentError, "#{@name} is written on one line, so there are no lines to follow"
      end
    end
  end
end
