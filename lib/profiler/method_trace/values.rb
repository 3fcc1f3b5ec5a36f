# frozen_string_literal: true

module Profiler
  class MethodTrace
    # Describes values of a traced method without calling any method of theirs.
    #
    # A value is shown as its class, with the length of a String, an Array or a Hash. Its content is shown only for the
    # names that are requested, and never for names that look like a secret.
    class Values
      # Names whose values are never shown.
      SECRET = /passw|passphrase|secret|token|credential|api_?key|private_?key|\bkey\b|crypt|salt|certificate|\botp\b|\bssn\b|\bcvv\b|\bcvc\b|auth|session|cookie/i.freeze
      # The bytes that are shown of a String that is an element, and of one that is named itself, such as a query; the elements of an Array
      # or Hash, how deep they are shown, and the bytes of all. Larger Integers would take long to be converted to digits.
      LONGEST = 60
      LONGEST_ALONE = 300
      LARGEST_BITS = 20_000
      MAX_ELEMENTS = 5
      DEEPEST = 2
      LONGEST_LINE = 800
      # Ruby's own methods, even if an app has replaced them for its classes.
      CLASS = Kernel.instance_method(:class)
      BYTESIZE = String.instance_method(:bytesize)
      SLICE = String.instance_method(:byteslice)
      ARRAY_SIZE = Array.instance_method(:size)
      ARRAY_SLICE = Array.instance_method(:slice)
      HASH_SIZE = Hash.instance_method(:size)
      EACH_PAIR = Hash.instance_method(:each_pair)
      MODULE_NAME = Module.instance_method(:name)
      HAS_VARIABLE = Kernel.instance_method(:instance_variable_defined?)
      VARIABLE = Kernel.instance_method(:instance_variable_get)
      NAME = NameError.instance_method(:name)
      RECEIVER = NameError.instance_method(:receiver)
      # The value of an instance variable or element that an object does not have.
      UNDEFINED = Object.new.freeze
      private_constant :LONGEST, :LONGEST_ALONE, :LARGEST_BITS, :MAX_ELEMENTS, :DEEPEST, :LONGEST_LINE, :CLASS, :BYTESIZE, :SLICE, :ARRAY_SIZE, :ARRAY_SLICE, :HASH_SIZE, :EACH_PAIR, :MODULE_NAME, :HAS_VARIABLE, :VARIABLE, :NAME,
                       :RECEIVER

      # Returns the value of an instance variable of any object, be it an Integer or a BasicObject.
      #
      # @param name [String] with its +@+
      # @return [Object] {UNDEFINED} if there is none
      def self.instance_variable(object, name)
        HAS_VARIABLE.bind_call(object, name) ? VARIABLE.bind_call(object, name) : UNDEFINED
      end

      # @param object [Module] a class or a module
      # @return [String] its name
      def self.module_name(object) = Class === object ? Native.class_name(object) : (MODULE_NAME.bind_call(object) || "Module")

      # @param shown [Array<String>] the names whose values are shown
      # @raise [ArgumentError] if one of these is a secret
      def initialize(shown)
        @secret = Regexp.union(SECRET, *filters)
        secret = shown.find { |name| @secret.match?(name) }
        raise ArgumentError, "show: the value of #{secret.inspect} is not shown, because its name looks like a secret" if secret

        @shown = shown
      end

      # @param pairs [Array<Array(String, Object)>] names and values
      # @return [String] as in a list of arguments
      def list(pairs)
        cut(pairs.map { |name, value| "#{name}: #{of(name, value)}" }.join(", "), LONGEST_LINE)
      end

      # @param name [String]
      # @return [String]
      def of(name, value)
        @shown.include?(name) ? content(value, DEEPEST) : kind(value)
      end

      # @return [String] the class of the value, and its size
      def kind(value)
        return "undefined" if UNDEFINED.equal?(value)

        case value
        when nil, true, false then literal(value)
        when String then "#{name_of(value)}(#{BYTESIZE.bind_call(value)} bytes)"
        when Array then "#{name_of(value)}(#{ARRAY_SIZE.bind_call(value)})"
        when Hash then "#{name_of(value)}(#{HASH_SIZE.bind_call(value)})"
        else name_of(value)
        end
      end

      # @param name [String] the name by which a message is requested
      # @param exception [Exception]
      # @return [String] its message, if that is text already: what makes one later may call methods of the app
      def message(name, exception)
        text = Native.message_of(exception)
        return of(name, text) if String === text || !(NameError === exception)

        "#{content(NAME.bind_call(exception), DEEPEST)} of #{kind(RECEIVER.bind_call(exception))}"
      rescue ArgumentError # it has no receiver
        content(NAME.bind_call(exception), DEEPEST)
      end

      private

      # Returns the filters of values that the app hides in its logs. Rails ignores the case of texts, and those with a dot name the way
      # to a key.
      def filters
        app = defined?(::Rails.application) && ::Rails.application
        list = app ? app.config.filter_parameters : []
        list.filter_map do |filter|
          case filter
          when Regexp then filter
          when String, Symbol then /#{Regexp.escape(filter.to_s[/[^.]+\z/].to_s)}/i unless filter.empty?
          end
        end
      rescue StandardError, ScriptError
        []
      end

      def name_of(value) = Native.class_name(CLASS.bind_call(value))

      def literal(value)
        value.nil? ? "nil" : (value ? "true" : "false")
      end

      def content(value, depth)
        case value
        when Integer then value.bit_length > LARGEST_BITS ? "Integer(#{value.bit_length} bits)" : cut(value.to_s, LONGEST)
        when Float then value.to_s
        when Symbol then cut(value.inspect, LONGEST)
        when String then text(value, depth == DEEPEST ? LONGEST_ALONE : LONGEST)
        when Array then depth.zero? ? kind(value) : elements(value, depth)
        when Hash then depth.zero? ? kind(value) : pairs(value, depth)
        when Module then Values.module_name(value)
        else kind(value)
        end
      end

      def text(value, longest)
        bytes = BYTESIZE.bind_call(value)
        "#{utf8(SLICE.bind_call(value, 0, longest)).inspect}#{" (#{bytes} bytes)" if bytes > longest}"
      end

      # Returns the text, with a ? for what UTF-8 does not have. The text may be of any encoding, and broken.
      def utf8(value)
        text = String.new(value)
        text.force_encoding(Encoding::UTF_8) if [Encoding::BINARY, Encoding::US_ASCII].include?(text.encoding)
        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace, replace: "?")
      rescue EncodingError
        text.b.encode(Encoding::UTF_8, undef: :replace, replace: "?")
      end

      def elements(value, depth)
        size = ARRAY_SIZE.bind_call(value)
        shown = ARRAY_SLICE.bind_call(value, 0, MAX_ELEMENTS).map { |element| content(element, depth - 1) }
        "[#{[*shown, *("#{size - MAX_ELEMENTS} more" if size > MAX_ELEMENTS)].join(", ")}]"
      end

      def pairs(value, depth)
        size = HASH_SIZE.bind_call(value)
        shown = []
        EACH_PAIR.bind_call(value) do |key, element|
          shown << pair(key, element, depth - 1)
          break if shown.size == MAX_ELEMENTS
        end
        "{#{[*shown, *("#{size - MAX_ELEMENTS} more" if size > MAX_ELEMENTS)].join(", ")}}"
      end

      def pair(key, element, depth)
        name =
          case key
          when String then utf8(key)
          when Symbol then utf8(key.name)
          end
        "#{content(key, 0)} => #{name && @secret.match?(name) ? "[hidden]" : content(element, depth)}"
      end

      def cut(text, longest)
        text.bytesize > longest ? "#{text.byteslice(0, longest).scrub("")}..." : text
      end
    end
  end
end
