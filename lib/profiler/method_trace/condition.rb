# frozen_string_literal: true

require "strscan"
require_relative "path"

module Profiler
  class MethodTrace
    # A condition that selects the calls that are logged, such as +ms > 200 and user_id == 7+.
    #
    #   condition  = all ("or" all)*
    #   all        = one ("and" one)*
    #   one        = "not" one | "(" condition ")" | name | name operator literal
    #   operator   = "==" | "!=" | "<" | "<=" | ">" | ">="
    #   literal    = 7 | 1.5 | 'text' | nil | true | false
    #
    # A name is one of {Facts}, an argument of the method, an instance variable such as <tt>@id</tt>, a {Path} to a part of these,
    # +self+, +result+ or a label. A condition is not Ruby code, and calls no method of a value: it compares only numbers, texts,
    # Symbols, +nil+, +true+ and +false+, and everything else is unequal. A text that is a number can be compared with a number,
    # because values of labels are texts.
    class Condition
      WORDS = %w[and or not nil true false].freeze
      COMPARISONS = { "==" => :==, "!=" => :!=, "<=" => :<=, ">=" => :>=, "<" => :<, ">" => :> }.freeze
      TOKEN = /(?<number>-?\d+(?:\.\d+)?)|'(?<single>[^']*)'|"(?<double>[^"]*)"|(?<name>@?[[:alpha:]_]\w*(?:\.\w+)*(?:#{Path::STEP.source})*)|(?<sign>==|!=|<=|>=|<|>|\(|\))/.freeze
      # The longest condition, and how deep it may be nested.
      LONGEST = 1_000
      DEEPEST = 50
      private_constant :WORDS, :COMPARISONS, :TOKEN, :LONGEST, :DEEPEST

      # @return [Array<String>] the names that it asks for
      attr_reader :names

      # @param text [String]
      # @raise [ArgumentError] if it is not a condition
      def initialize(text)
        @text = text
        refuse("it is not a text") unless text.is_a?(String) && text.valid_encoding?
        refuse("it is longer than #{LONGEST} characters") if text.size > LONGEST
        @tokens = tokens
        @names = []
        @tree = any(0)
        refuse("#{@tokens.first.last.inspect} is one too many") unless @tokens.empty?
      end

      # @yieldparam name [String]
      # @yieldreturn its value for the call in question
      # @return [Boolean]
      def true?(&value_of) = holds?(@tree, value_of)

      private

      def refuse(why)
        raise ArgumentError, "when: #{@text.inspect} is not a condition: #{why} (allowed: such as \"ms > 200 and user_id == 7\")"
      end

      def tokens
        scanner = StringScanner.new(@text)
        found = []
        until scanner.skip(/\s+/) && scanner.eos? || scanner.eos?
          refuse("nothing is known about #{scanner.rest[0, 20].inspect}") unless scanner.skip(TOKEN)
          found << token(scanner)
        end
        found
      end

      def token(scanner)
        kind = %i[number single double name sign].find { |name| scanner[name] }
        text = scanner[kind]
        case kind
        when :number then [:literal, text.include?(".") ? text.to_f : text.to_i]
        when :single, :double then [:literal, text]
        when :sign then [:sign, text]
        else word(text)
        end
      end

      def word(text)
        case text
        when "nil" then [:literal, nil]
        when "true" then [:literal, true]
        when "false" then [:literal, false]
        else WORDS.include?(text) ? [:word, text] : [:name, text]
        end
      end

      def accept(*token)
        @tokens.shift if @tokens.first == token
      end

      def any(depth)
        parts = [all(depth)]
        parts << all(depth) while accept(:word, "or")
        [:any, parts]
      end

      def all(depth)
        parts = [one(depth)]
        parts << one(depth) while accept(:word, "and")
        [:all, parts]
      end

      def one(depth)
        refuse("it is nested too deeply") if depth > DEEPEST
        return [:not, one(depth + 1)] if accept(:word, "not")

        if accept(:sign, "(")
          inner = any(depth + 1)
          accept(:sign, ")") or refuse("a \")\" is missing")
          return inner
        end
        kind, name = @tokens.shift
        refuse(kind ? "#{name.inspect} is not a name" : "it ends too early") unless kind == :name
        comparison(name)
      end

      def comparison(name)
        @names |= [name]
        kind, sign = @tokens.first
        return [:given, name] unless kind == :sign && COMPARISONS.key?(sign)

        @tokens.shift
        kind, literal = @tokens.shift
        refuse("#{name} is compared with #{literal.nil? && kind != :literal ? "nothing" : literal.inspect}, which is neither a number nor text") unless kind == :literal
        [:compare, name, COMPARISONS.fetch(sign), literal]
      end

      def holds?(tree, value_of)
        kind, *parts = tree
        case kind
        when :any then parts.first.any? { |part| holds?(part, value_of) }
        when :all then parts.first.all? { |part| holds?(part, value_of) }
        when :not then !holds?(parts.first, value_of)
        when :given then given?(value_of.call(parts.first))
        else compare(value_of.call(parts[0]), parts[1], parts[2])
        end
      end

      def given?(value)
        !(nil.equal?(value) || false.equal?(value))
      end

      def compare(value, operator, literal)
        value = plain(value, literal)
        case operator
        when :== then value == literal
        when :!= then value != literal
        else
          (Numeric === literal && Numeric === value || String === literal && String === value) && value.public_send(operator, literal)
        end
      end

      # Returns the value as an object of Ruby's own classes, which can be compared without calling anything of the app; a new object
      # for all others, which is unequal to everything.
      def plain(value, literal)
        case value
        when nil, true, false, Integer, Float then value
        when Symbol then value.name
        when String
          text = String.new(value)
          (Float(text, exception: false) if Numeric === literal) || text
        else Object.new
        end
      end
    end
  end
end
