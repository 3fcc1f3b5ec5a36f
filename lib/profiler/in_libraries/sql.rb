# frozen_string_literal: true

require_relative "sql/scanner"

module Profiler
  module InLibraries
    # Removes values from SQL.
    module Sql
      LONGEST = 240
      # Bytes of a statement that are read; a long import need not be read whole.
      READ = 4_000
      LISTS = /\?(?:\s*,\s*\?)+/.freeze
      ADAPTERS = { /postg|cockroach/i => :postgresql, /mysql|trilogy|maria/i => :mysql, /sqlite/i => :sqlite }.freeze
      private_constant :READ, :LISTS, :ADAPTERS

      # @param adapter [String, nil] its name in Active Record
      # @return [Symbol] its dialect
      def self.dialect(adapter)
        ADAPTERS.find { |pattern, _dialect| pattern.match?(adapter.to_s) }&.last || :unknown
      end

      # Replaces each value by +?+, and returns at most {LONGEST} characters. It omits everything from the first token that may
      # or may not be a value.
      #
      # @param sql [String]
      # @param dialect [Symbol] +:postgresql+, +:mysql+, +:sqlite+, or +:unknown+
      # @return [String]
      def self.without_values(sql, dialect:)
        # The statement is not cut at LONGEST before it is parsed, because that could cut a string literal in half.
        text = Scanner.new(utf8(sql.byteslice(0, READ)), dialect).without_values
        text.gsub(LISTS, "?").gsub(/\s+/, " ").strip[0, LONGEST]
      end

      def self.utf8(text)
        text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY
        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace, replace: "?").scrub("?")
      end
      private_class_method :utf8
    end
  end
end
