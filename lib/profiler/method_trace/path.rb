# frozen_string_literal: true

require_relative "values"

module Profiler
  class MethodTrace
    # The name of a value in a call, as in +show+ and +when+: an argument, a label, +result+, +self+, or an instance variable such as
    # <tt>@state</tt>. Keys and instance variables may follow: <tt>env[PATH_INFO]</tt>, <tt>ids[0]</tt>,
    # <tt>@request.@params[id]</tt>.
    #
    # No method of a value is called.
    class Path
      STEP = /\[[^\[\]]+\]|\.@[[:alpha:]_][[:word:]]*/.freeze
      FORM = /\A(?<root>@?[[:alpha:]_][[:word:].]*?)(?<steps>(?:#{STEP.source})*)\z/.freeze
      # The names that can be requested.
      NAME = /\A@?[[:alpha:]_][[:word:]]*(?:#{STEP.source})*\z/.freeze
      # The name of the object that the method is called on.
      SELF = "self"
      # The largest number of elements of a Hash among which a key is searched.
      MAX_ELEMENTS = 1_000
      AT = Array.instance_method(:at)
      EACH_PAIR = Hash.instance_method(:each_pair)
      SAME_TEXT = String.instance_method(:==)
      CLASS = Kernel.instance_method(:class)
      private_constant :FORM, :MAX_ELEMENTS, :AT, :EACH_PAIR, :SAME_TEXT, :CLASS

      # @return [String] the whole name
      attr_reader :text

      # @return [String] its first part; +self+ for an instance variable
      attr_reader :root

      # @param text [String] a name that matches {FORM}
      def initialize(text)
        @text = text
        match = FORM.match(text)
        @root = match[:root]
        @steps = match[:steps].scan(STEP).map { |step| step.delete_prefix(".") }
        @root, @steps = SELF, [@root, *@steps] if @root.start_with?("@")
      end

      # Returns whether only a part of the root's value is named.
      def part? = @steps.any?

      # @param value [Object] that of the root
      # @return [Object] the value that is named; {Values::UNDEFINED} if there is none. For +self+ alone, that is the class, or the
      #   class or module itself on which the method is called
      def of(value)
        return Module === value ? value : CLASS.bind_call(value) if @root == SELF && @steps.empty? # rubocop:disable Style/CaseEquality -- a proxy may answer is_a?

        @steps.inject(value) { |outer, step| step.start_with?("@") ? Values.instance_variable(outer, step) : element(outer, step[1..-2]) }
      end

      private

      def element(value, key)
        number = Integer(key, 10, exception: false)
        case value
        when Array then number && number.bit_length < 62 ? AT.bind_call(value, number) : Values::UNDEFINED
        when Hash then element_of_hash(value, key, number)
        else Values::UNDEFINED
        end
      end

      # Searches the key, as a lookup could call methods of keys.
      def element_of_hash(hash, text, number)
        left = MAX_ELEMENTS
        EACH_PAIR.bind_call(hash) do |key, element|
          return element if same?(key, text, number)
          break if (left -= 1).zero?
        end
        Values::UNDEFINED
      end

      def same?(key, text, number)
        case key
        when Symbol then key.name == text
        when String then SAME_TEXT.bind_call(key, text)
        when Integer then key == number
        else false
        end
      end
    end
  end
end
