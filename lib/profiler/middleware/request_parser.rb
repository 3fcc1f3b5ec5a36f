# frozen_string_literal: true

require_relative "../nearest"

module Profiler
  class Middleware
    # Parses the profile options of a request: +?profile=wall+, or the header <tt>X-Profile: mode=cpu,wall;interval=500</tt>.
    # Both have the same syntax; only a mode is short for <tt>mode=</tt>.
    class RequestParser
      HEADER = "HTTP_X_PROFILE"
      MODES = %w[cpu wall allocations object heap retained native].freeze
      NUMBERS = %w[interval every].freeze
      # The words that are allowed in place of a mode; see {Shown}.
      NAMES = [Shown::LAST, *Index::NAMES].freeze
      LONGEST = 200
      # No longer word can be near a name, so that its distance is not computed.
      LONGEST_WORD = 16
      private_constant :NAMES, :LONGEST, :LONGEST_WORD

      # @param parameter [String, nil] of the query; nil: only the header counts
      def initialize(parameter)
        @prefix = "#{AnyObject.word("parameter", parameter)}=".b if parameter
      end

      # Finds the options of a request cheaply, without parsing them. Returns nil if there are none.
      #
      # @return [String, nil]
      def find_in(env)
        header = env.fetch(HEADER, nil)
        return header.b if String === header # a client can send any bytes
        return unless @prefix

        query = env.fetch("QUERY_STRING", nil)
        return unless String === query && !query.empty?

        query = query.b
        pair = query.include?(@prefix) && query.split("&").find { |it| it.start_with?(@prefix) } or return
        options_text = decode(pair.delete_prefix(@prefix))
        # Otherwise the parameter is the app's own.
        options_text if Shown.name?(options_text) || mode_meant?(options_text)
      end

      # @param options_text [String]
      # @return [Hash] options of a session
      # @raise [ArgumentError]
      def parse(options_text)
        raise ArgumentError, "the request is longer than #{LONGEST} bytes" if options_text.bytesize > LONGEST

        words = options_text.scrub("?").split(";").map(&:strip).reject(&:empty?)
        options = words.to_h do |word|
          name, value = word.split("=", 2)
          name, value = "mode", name unless value
          option(name, value)
        end
        # One request is short, and the page shows when things happened.
        { timeline: true, **options }
      end

      private

      # Returns whether it begins with a mode, even a misspelt one.
      def mode_meant?(options_text)
        return true if options_text.start_with?("mode=")

        word = options_text[/\A\w+/]
        MODES.include?(word) || (word && nearest(word) ? true : false)
      end

      def nearest(word)
        Nearest.of(word.downcase, MODES + NAMES) if word.size <= LONGEST_WORD
      end

      def option(name, value)
        case name
        when "mode" then [:mode, value.split(",").map { |it| mode(it) }]
        when *NUMBERS then [name.to_sym, Integer(value, 10, exception: false) || (raise ArgumentError, "#{name}: #{value.inspect} is not an Integer")]
        when "timeline" then [:timeline, value == "1"]
        else raise ArgumentError, "#{name.inspect} is not an option (allowed: mode, interval, every, timeline)"
        end
      end

      def mode(name)
        return name.to_sym if MODES.include?(name)

        nearest = nearest(name)
        meant = ": did you mean #{nearest}?" if nearest && nearest != name # the list was not requested by GET
        raise ArgumentError, "#{name.inspect} is not a mode#{meant} (allowed: #{MODES.join(", ")})"
      end

      def decode(text)
        text.tr("+", " ").gsub(/%(\h\h)/n) { $1.hex.chr }.force_encoding(Encoding::UTF_8).scrub("?")
      end
    end
  end
end
