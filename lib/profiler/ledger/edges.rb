# frozen_string_literal: true

module Profiler
  class Ledger
    # Names of references, such as +@store+ or +["key"]+: how one object refers to another. No method of the app is called, so
    # neither +inspect+ nor +==+.
    #
    # @api private
    module Edges
      NAME = Module.instance_method(:name)
      EQUAL = BasicObject.instance_method(:equal?)
      CLASS = Kernel.instance_method(:class)
      IVARS = Kernel.instance_method(:instance_variables)
      IVAR = Kernel.instance_method(:instance_variable_get)
      WITH_MEMBERS = [Struct, (::Data if defined?(::Data) && ::Data.respond_to?(:define))].compact.freeze # Data is new in 3.2
      # The largest number of bytes of a String that are shown.
      MAX_BYTES = 40
      # Global variables that people define. Others have hooks or warn, and $FILENAME opens the next file of ARGV.
      GLOBAL = /\A\$(?!FILENAME\z)[a-z_]\w+\z/i

      class << self
        # Sets the names of a path's steps.
        #
        # @param row [Hash] the path, as the ledger has it
        # @param steps [Array<Array>] a row for each step: +[object]+; +[nil]+ or +[nil, name]+ for an object of the VM's own; empty if
        #   the object has died or moved
        def name_path(row, steps)
          holder = nil # the last object that Ruby code can see
          between = [] # what is between that and the next one
          gap = row["missing"].positive? ? steps.size / 2 : nil
          row["path"].zip(steps).each_with_index do |(step, found), place|
            holder = nil if place == gap || found.empty?
            object, hidden = found
            step["name"] = found.empty? ? "(gone or moved since)" : hidden.to_s
            next between << hidden.to_s if found.empty? || nil === object # rubocop:disable Style/CaseEquality

            step["name"] = holder ? edge(*holder, object, between) : beginning(object, row["root"], place)
            holder = [object]
            between = []
          end
        end

        private

        # Returns how a path begins: with this object, which the VM has for that +root+. Empty if it does not begin here.
        def beginning(object, root, place)
          return "" if place.positive?

          case object
          when Module then NAME.bind_call(object) || Native.class_name(object) || ""
          when Thread then thread(object)
          else root == "global variable" ? global(object) : ""
          end
        end

        # Returns how +holder+ refers to +held+; empty if that is unknown. +between+ holds names of objects of the VM's own that
        # are in between.
        def edge(holder, held, between)
          found = direct(holder, held) if between.empty? || Proc === holder
          found || (between.empty? ? kind(holder) : "")
        end

        def same?(one, other) = EQUAL.bind_call(one, other)

        def direct(holder, held)
          contents(holder, held) || instance_variable(holder, held)
        end

        def contents(holder, held)
          case holder
          when Module then module_contents(holder, held)
          when Hash then entry(holder, held)
          when Array then index(holder, held)
          when *WITH_MEMBERS then member(holder, held)
          when Range then "begin or end"
          when Thread then thread_contents(holder, held)
          when Proc then local(Proc.instance_method(:binding).bind_call(holder), held)
          when Binding then local(holder, held)
          when Method then "receiver" if same?(Method.instance_method(:receiver).bind_call(holder), held)
          end
        end

        def module_contents(holder, held)
          constants = Module.instance_method(:constants).bind_call(holder, false)
          constants.reject! { |name| Module.instance_method(:autoload?).bind_call(holder, name, false) }
          constant = constants.find { |name| same?(constant(holder, name), held) }
          return "::#{constant}" if constant

          Module.instance_method(:class_variables).bind_call(holder, false).find do |name|
            same?(Module.instance_method(:class_variable_get).bind_call(holder, name), held)
          end&.to_s
        end

        # Returns the value of a constant, without the warning that Ruby prints for a deprecated one.
        def constant(holder, name)
          warned = Warning[:deprecated]
          Warning[:deprecated] = false
          Module.instance_method(:const_get).bind_call(holder, name, false)
        rescue NameError
          nil
        ensure
          Warning[:deprecated] = warned
        end

        def instance_variable(holder, held)
          IVARS.bind_call(holder).find { |name| same?(IVAR.bind_call(holder, name), held) }&.to_s
        rescue TypeError # a BasicObject
          nil
        end

        # Looks at copies: other threads run meanwhile, and cannot add a key to a Hash that is being iterated over.
        def entry(holder, held)
          keys = Hash.instance_method(:keys).bind_call(holder)
          values = Hash.instance_method(:values).bind_call(holder)
          place = values.index { |value| same?(value, held) }
          return "[#{plain(keys[place])}]" if place && keys.size == values.size # a thread may have run in between

          keys.any? { |key| same?(key, held) } ? "(a key)" : "(default)" unless place
        end

        def index(holder, held)
          place = 0
          Array.instance_method(:each).bind_call(holder) do |element|
            return "[#{place}]" if same?(element, held)

            place += 1
          end
          nil
        end

        def member(holder, held)
          members = WITH_MEMBERS.find { |parent| parent === holder }.instance_method(:to_h).bind_call(holder)
          members.find { |_, value| same?(value, held) }&.then { |name, _| ".#{name}" }
        end

        def thread_contents(holder, held)
          keys = Thread.instance_method(:keys).bind_call(holder)
          key = keys.find { |name| same?(Thread.instance_method(:[]).bind_call(holder, name), held) }
          return "[#{key.inspect}]" if key

          variables = Thread.instance_method(:thread_variables).bind_call(holder)
          "thread variables" if Hash === held && variables.any? && Hash.instance_method(:keys).bind_call(held) == variables
        end

        def local(binding, held)
          name = binding.local_variables.find { |variable| same?(binding.local_variable_get(variable), held) }
          return "local variable #{name}" if name

          "self" if same?(binding.receiver, held)
        rescue ArgumentError # the Proc of a method of C
          nil
        end

        # Describes a reference without a name, by the kind of its holder.
        def kind(holder)
          case holder
          when Thread then ["local variable of", place(Thread.instance_method(:backtrace).bind_call(holder))].compact.join(" ")
          when Fiber then ["local variable, or fiber-local, of", place(Fiber.instance_method(:backtrace).bind_call(holder))].compact.join(" ")
          when Module then "(a private constant, or the VM's)"
          else ""
          end
        end

        def place(backtrace) = backtrace&.first

        def thread(thread)
          return "main thread" if same?(thread, Thread.main)

          ["thread", Thread.instance_method(:name).bind_call(thread)].compact.join(" ")
        end

        def global(object)
          global_variables.grep(GLOBAL).find { |name| same?(eval(name.to_s), object) }.to_s # rubocop:disable Security/Eval
        end

        def plain(key)
          case key
          when String then (key.bytesize > MAX_BYTES ? key.byteslice(0, MAX_BYTES).scrub("") + "..." : key.dup).inspect
          when Symbol, Integer, Float, true, false, nil then key.inspect
          when Module then NAME.bind_call(key) || "a module"
          else Native.class_name(CLASS.bind_call(key)) || "an object"
          end
        rescue TypeError # a BasicObject has no class method
          "an object"
        end
      end
    end
  end
end
