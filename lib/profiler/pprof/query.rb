# frozen_string_literal: true

module Profiler
  class Pprof
    # The query of a request, such as +seconds+, +debug+, +owners+ and +json+. Other parameters are ignored.
    class Query
      LONGEST = 40
      private_constant :LONGEST

      # @param text [String, nil]
      def initialize(text)
        @pairs = text.to_s.b.split("&").map { |it| it.split("=", 2) }
      end

      # @param default [Integer] where it is not given
      # @param most [Integer]
      # @return [Integer]
      # @raise [ArgumentError]
      def seconds(default, most)
        text = value("seconds") or return default
        seconds = text.match?(/\A\d{1,9}\z/) ? text.to_i : 0
        return seconds if seconds.between?(1, most)

        raise ArgumentError, "seconds: #{text[0, LONGEST].inspect} is not an Integer from 1 to #{most}"
      end

      # @raise [ArgumentError] if there are seconds
      def require_no_seconds(message)
        raise ArgumentError, message if value("seconds")
      end

      # Raises if the text of Go's +debug+ is requested.
      #
      # @raise [ArgumentError] if text is requested
      def require_binary
        return if [nil, "", "0"].include?(value("debug"))

        raise ArgumentError, "debug: only pprof is served, not text (allowed: 0). go tool pprof and profiler report show it as text"
      end

      # @param name [String]
      # @return [Boolean] false where it is not given
      # @raise [ArgumentError]
      def flag(name)
        text = value(name)
        return text == "1" if [nil, "0", "1"].include?(text)

        raise ArgumentError, "#{name}: #{text[0, LONGEST].inspect} is not allowed (allowed: 0, 1)"
      end

      # @param name [String]
      # @return [String, nil] without percent-encoding; nil where it is not given
      # @raise [ArgumentError] if it is no text
      def text(name)
        text = value(name)&.gsub(/%(\h\h)/) { $1.hex.chr } or return # rubocop:disable Style/PerlBackrefs
        text = text.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : raise(ArgumentError, "#{name}: is not text in UTF-8")
      end

      # @param name [String]
      # @return [Float, nil] nil where it is not given
      # @raise [ArgumentError]
      def number(name)
        text = value(name) or return
        text.match?(/\A\d{1,9}(?:\.\d{1,9})?\z/) ? text.to_f : raise(ArgumentError, "#{name}: #{text[0, LONGEST].inspect} is not a number")
      end

      private

      # Returns the value of a parameter: the first one, as in Go.
      def value(name) = @pairs.assoc(name)&.then { |it| it[1].to_s }
    end
  end
end
