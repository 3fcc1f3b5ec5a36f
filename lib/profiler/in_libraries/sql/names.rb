# frozen_string_literal: true

module Profiler
  module InLibraries
    module Sql
      # Decides which of SQLite's double-quoted tokens are certainly names: those where its grammar allows no string. In an
      # expression, a token that names no column is a string.
      class Names
        # Words before INTO in an INSERT. VACUUM INTO is followed by a file.
        INSERT = %w[INSERT REPLACE IGNORE ABORT FAIL ROLLBACK].freeze
        TABLE_FOLLOWS = %w[JOIN UPDATE TABLE].freeze
        QUALIFIES = /\s*\.\s*["*A-Za-z_]/.freeze
        ASSIGNED = /\s*=(?!=)/.freeze
        END_OF_SET = %w[WHERE FROM RETURNING ORDER LIMIT ;].freeze
        private_constant(*constants(false))

        def initialize
          @last = @before_last = nil
          @depth = 0
          @set_depth = nil
          @insert = nil # :table, :after_table, :columns: how far its target has been read
        end

        # @param token [String] that was read, as it is shown
        def after(token)
          token = token.upcase unless token.start_with?('"')
          follow_depth(token)
          follow_insert(token)
          @before_last = @last
          @last = token
        end

        # Returns whether the double-quoted token that ends at the scanner's position is a name.
        #
        # @param scanner [StringScanner]
        def certain?(scanner)
          @last == "." || %i[table columns].include?(@insert) || table_follows? || scanner.match?(QUALIFIES) || assigned?(scanner) ? true : false
        end

        private

        # Returns whether a table follows: not after IS DISTINCT FROM, which compares values.
        def table_follows?
          TABLE_FOLLOWS.include?(@last) || (@last == "FROM" && @before_last != "DISTINCT")
        end

        def assigned?(scanner)
          @set_depth == @depth && ["SET", ","].include?(@last) && scanner.match?(ASSIGNED)
        end

        def follow_depth(token)
          case token
          when "(" then @depth += 1
          when ")" then @depth -= 1
          when "SET" then @set_depth = @depth
          when *END_OF_SET then @set_depth = nil
          end
        end

        def follow_insert(token)
          @insert =
            case @insert
            when :table then :after_table if name?(token)
            when :after_table then { "." => :table, "(" => :columns }[token]
            when :columns then :columns if token == "," || name?(token)
            else :table if token == "INTO" && INSERT.include?(@last)
            end
        end

        def name?(token) = token.match?(/\A["`\[\w\u0080-\u{10ffff}]/)
      end
    end
  end
end
