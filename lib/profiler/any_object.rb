# frozen_string_literal: true

module Profiler
  # Questions to an object of which nothing is known, such as the value of an option. It may be a BasicObject, which has almost no
  # methods, and its own methods may raise. To ask for its class, use <tt>Class === object</tt>.
  #
  # Ruby 2 can read this file: see autoload.rb.
  #
  # @api private
  module AnyObject
    CLASS = Kernel.instance_method(:class)
    RESPOND_TO = Kernel.instance_method(:respond_to?)
    # The longest word of an option, in bytes.
    MAX_WORD_BYTES = 10_000
    # The largest value of an option that counts something.
    LARGEST = (2**31) - 1
    private_constant :CLASS, :RESPOND_TO, :MAX_WORD_BYTES, :LARGEST

    class << self
      # Returns a description of the object for a message, without running code of the app.
      #
      # @param object [Object]
      # @return [String]
      def text(object)
        defined?(Native) ? Native.describe(object) : object.inspect
      end

      # @param object [Object]
      # @return [Class] its class, where a message must not show its value
      def class_of(object)
        CLASS.bind(object).call
      end

      # Returns what the object's own +to_s+ returns.
      #
      # @param object [Object]
      # @return [String, nil] nil if it raises, or there is none
      def own_text(object)
        Losses.own(Losses::OF_APPS, ->(_error) {}) do
          text = object.to_s
          text if String === text
        end
      end

      # Returns whether it responds to the method.
      #
      # @param object [Object]
      # @param method [Symbol]
      # @return [Boolean]
      def can?(object, method)
        RESPOND_TO.bind(object).call(method)
      end

      # Returns an Array as it is, an empty one for nil, and an Array of the object otherwise.
      #
      # @param object [Object]
      # @return [Array]
      def list(object)
        return object if Array === object

        object.equal?(nil) ? [] : [object]
      end

      # Returns the value of an option that is a name, such as a format.
      #
      # @param option [String] its name
      # @param object [Object]
      # @return [String] in UTF-8
      # @raise [ArgumentError] unless it is a String or a Symbol with valid text
      def word(option, object)
        utf8 = utf8(object)
        return utf8 if utf8 && utf8.bytesize <= MAX_WORD_BYTES

        raise ArgumentError, "#{option}: #{text(object)} is not a name (allowed: a String or a Symbol)"
      end

      # Returns the value of an option that is a list of names.
      #
      # @return [Array<String>]
      # @raise [ArgumentError] as {word}
      def words(option, object)
        return object.map { |name| word(option, name) } if Array === object

        raise ArgumentError, "#{option}: #{text(object)} is not a list of names (allowed: an Array of Strings or Symbols)"
      end

      # Returns the value of an option that is a number, as one of Ruby's own: methods of any other are the app's, and may raise later.
      #
      # @param option [String] its name
      # @param object [Object]
      # @param what [String] what is allowed
      # @yieldparam number [Integer, Float, Rational]
      # @yieldreturn [Boolean] whether it is allowed
      # @return [Integer, Float, Rational]
      # @raise [ArgumentError]
      def number(option, object, what)
        number = own_number(object)
        return number if number && yield(number)

        raise ArgumentError, "#{option}: #{text(object)} is not #{what}"
      end

      # Returns the value of an option that is an Integer from +least+ on, and that fits into a number of the extension.
      #
      # @param option [String] its name
      # @param object [Object]
      # @param least [Integer]
      # @return [Integer]
      # @raise [ArgumentError]
      def integer(option, object, least = 1)
        wrong = if !(Integer === object) || object < least
                  "not #{least == 1 ? "a positive Integer" : "an Integer of #{least} or more"}"
                elsif object > LARGEST
                  "too large (allowed: up to #{LARGEST})"
                end
        raise ArgumentError, "#{option}: #{text(object)} is #{wrong}" if wrong

        object
      end

      # @param object [Object]
      # @return [String, nil] the text of a String or a Symbol; nil if it is neither, or its bytes are not valid text
      def utf8(object)
        return unless String === object || Symbol === object

        text = Symbol === object ? object.to_s : String.new(object)
        text.force_encoding(Encoding::UTF_8) if [Encoding::BINARY, Encoding::US_ASCII].include?(text.encoding)
        text = text.encode(Encoding::UTF_8)
        text if text.valid_encoding?
      rescue EncodingError
        nil
      end

      private

      # @return [Integer, Float, Rational, nil] nil if the object is not a real number
      def own_number(object)
        case object
        when Integer, Float, Rational then object
        when Complex then nil
        when Numeric then Losses.own(Losses::OF_APPS, ->(_error) {}) { Float(object) } # such as a BigDecimal
        end
      end
    end
  end
end
