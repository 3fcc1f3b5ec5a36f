# frozen_string_literal: true

module Profiler
  class Middleware
    # The pattern of a path: +/orders/:id+ of <tt>/orders/17</tt>. Numbers, dates, UUIDs, hexadecimal digests and tokens are
    # replaced. A version as in <tt>/api/v1</tt> stays.
    module PathPattern
      NUMBER = /\d[\d-]*/.freeze
      DIGEST = /(?=[^\/.]*\d)\h[\h-]{7,}/.freeze
      TOKEN = /(?=[^\/.]*\d)[^\/.]{20,}|[^\/.]{64,}/.freeze
      ID = /(?<=\/)(?:#{NUMBER}|#{DIGEST}|#{TOKEN})(?=[\/.]|\z)/.freeze
      LONGEST = 200 # characters
      private_constant :NUMBER, :DIGEST, :TOKEN, :ID, :LONGEST

      # @param path [String] valid text
      # @return [String]
      def self.of(path) = path.gsub(ID, ":id")[0, LONGEST]

      # Returns a path, or a part of one, as valid text: a client can send any bytes.
      #
      # @param path [String]
      # @return [String] in UTF-8, or in ASCII
      def self.text(path)
        return path if path.ascii_only?

        path.dup.force_encoding(Encoding::UTF_8).scrub("?")
      end
    end
  end
end
