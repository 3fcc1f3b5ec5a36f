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
      # The bytes that are shown of a String, the elements of an Array or Hash, how deep they are shown, and the bytes of all.
      LONGEST = 60
      MAX_ELEMENTS = 5
      DEEPEST = 2
      LONGEST_LINE = 400
      # Ruby's own methods, even if an app has replaced them for its classes.
      CLASS = Kernel.instance_method(:class)
      BYTESIZE = String.instance_method(:bytesize)
      SLICE = String.instance_method(:byteslice)
      DUMP = String.instance_method(:inspect)
      ARRAY_SIZE = Array.instance_method(:size)
      ARRAY_SLICE = Array.instance_method(:slice)
      HASH_SIZE = Hash.instance_method(:size)
      EACH_PAIR = Hash.instance_method(:each_pair)
      HAS_VARIABLE = Kernel.instance_method(:instance_variable_defined?)
      VARIABLE = Kernel.instance_method(:instance_variable_get)
      # The value of an instance variable that an object does not have.
      UNDEFINED = Object.new.freeze
      private_constant :LONGEST, :MAX_ELEMENTS, :DEEPEST, :LONGEST_LINE, :CLASS, :BYTESIZE, :SLICE, :DUMP, :ARRAY_SIZE, :ARRAY_SLICE, :HASH_SIZE, :EACH_PAIR, :HAS_VARIABLE, :VARIABLE, :UNDEFINED

      # Returns the value of an instance variable of any object, be it an Integer or a BasicObject.
      #
      # @param name [String] with its +@+
      # @param otherwise [Object] the value if there is none
      def self.instance_variable(object, name, otherwise = UNDEFINED)
        HAS_VARIABLE.bind_call(object, name) ? VARIABLE.bind_call(object, name) : otherwise
      end

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

      private

      # Returns the filters of values that the app hides in its logs.
      def filters
        app = defined?(::Rails.application) && ::Rails.application
        list = app ? app.config.filter_parameters : []
        list.filter_map { |filter| filter.is_a?(Regexp) || filter.is_a?(String) || filter.is_a?(Symbol) ? (filter.is_a?(Symbol) ? filter.to_s : filter) : nil }
      rescue StandardError, ScriptError
        []
      end

      def name_of(value) = Native.class_name(CLASS.bind_call(value))

      def literal(value)
        value.nil? ? "nil" : (value ? "true" : "false")
      end

      def content(value, depth)
        case value
        when Integer, Float then cut(value.to_s, LONGEST)
        when Symbol then cut(value.inspect, LONGEST)
        when String then text(value)
        when Array then depth.zero? ? kind(value) : elements(value, depth)
        when Hash then depth.zero? ? kind(value) : pairs(value, depth)
        else kind(value)
        end
      end

      def text(value)
        bytes = BYTESIZE.bind_call(value)
        start = String.new(SLICE.bind_call(value, 0, LONGEST)).scrub("?")
        "#{DUMP.bind_call(start)}#{" (#{bytes} bytes)" if bytes > LONGEST}"
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
        name = String === key || Symbol === key ? key.to_s : nil # rubocop:disable Style/CaseEquality -- a proxy may answer is_a?
        "#{content(key, 0)} => #{name && @secret.match?(name) ? "[hidden]" : content(element, depth)}"
      end

      def cut(text, longest)
        text.bytesize > longest ? "#{text.byteslice(0, longest).scrub("")}..." : text
      end
    end
  end
end
