# frozen_string_literal: true

module Profiler
  module CLI
    # Encodings of arguments, paths and messages. Names in profiles are UTF-8 in any locale, and a path is bytes.
    module Encodings
      # Returns an argument as UTF-8, whatever the locale is. An argument that is not valid UTF-8 becomes binary, as the parser of
      # options refuses invalid text.
      #
      # @param bytes [String]
      # @return [String]
      def argument(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : text.b
      end

      # Returns the text of an argument or a path: read as UTF-8, or in the encoding of the locale if it is not valid UTF-8. Bytes that
      # stand for no character become U+FFFD, as in the names of a profile.
      #
      # @param bytes [String]
      # @return [String] valid UTF-8
      def text(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        return text if text.valid_encoding?

        bytes.dup.force_encoding(Encoding.find("locale")).encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
      end

      # Returns a path in the encoding of the working directory's path. Otherwise Ruby would refuse to join or to compare the two.
      #
      # @param bytes [String]
      # @return [String]
      def path(bytes) = bytes.dup.force_encoding(Encoding.find("filesystem"))

      # Returns the files of one side of a comparison: one name that exists, or several separated by commas.
      #
      # @param bytes [String]
      # @return [Array<String>]
      def files(bytes)
        File.file?(bytes) ? [bytes] : bytes.b.split(",").reject(&:empty?).map { |it| path(it) }
      end
    end
  end
end
