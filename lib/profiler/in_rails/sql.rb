# frozen_string_literal: true

module Profiler
  module InRails
    # SQL that may be shown.
    module Sql
      LONGEST = 240
      COMMENTS = %r{/\*.*?(?:\*/|\z)|--[^\n]*}m.freeze
      NUMBERS = /(?<![\w`.$])[-+]?\d[\w.]*/.freeze
      # What holds a value, or may. In standard SQL a backslash stands for itself, but in E'';
      STANDARD = %r{
        #{COMMENTS} | \$(\w*)\$.*?(?:\$\1\$|\z)
        | \b[eE]'(?:[^'\\]|''|\\.)*(?:'|\z) | (?:\b[xXbBnN])?'(?:[^']|'')*(?:'|\z)
        | "(?:[^"]|"")*(?:"|\z) | #{NUMBERS}
      }mx.freeze
      # in MySQL's it may or may not, so nothing is shown of what comes after one before a quote.
      MYSQL = %r{
        #{COMMENTS} | \#[^\n]*
        | (?:\b[xXbBnN])?'(?:[^'\\]|''|\\[^'])*(?:'|\\.*|\z)
        | "(?:[^"\\]|""|\\[^"])*(?:"|\\.*|\z) | #{NUMBERS}
      }mx.freeze
      LISTS = /\?(?:\s*,\s*\?)+/.freeze
      private_constant :COMMENTS, :NUMBERS, :STANDARD, :MYSQL, :LISTS

      # The statement with +?+ for each value in it, at most {LONGEST} characters of it.
      #
      # @param sql [String]
      # @param mysql [Boolean] whether it may be MySQL's, where what is in double quotes is a string
      # @return [String]
      def self.without_values(sql, mysql:)
        # Not cut before, which could leave a string open; nor is all of a long import looked at.
        text = sql.byteslice(0, 4_000).scrub("?").gsub(mysql ? MYSQL : STANDARD) do |it|
          case it[0]
          when "/", "#" then " "
          when "-" then it.start_with?("--") ? " " : "?"
          when '"' then !mysql && it.end_with?('"') && it.size > 1 ? it : "?"
          else "?"
          end
        end
        text.gsub(LISTS, "?").gsub(/\s+/, " ").strip[0, LONGEST]
      end
    end
  end
end
