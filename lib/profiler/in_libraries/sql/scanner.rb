# frozen_string_literal: true

require "strscan"
require_relative "names"

module Profiler
  module InLibraries
    module Sql
      # Reads a statement token by token, as its database would, and keeps words, operators and quoted names. It stops at the
      # first token whose end or meaning is in doubt, since everything after it could be misread.
      class Scanner
        SPACE = /[ \t\r\n\f]+/.freeze
        WORD = /[A-Za-z_\u0080-\u{10ffff}][\w$\u0080-\u{10ffff}]*/.freeze
        # Numbers, and everything that begins like one: 0xff, 1e5, 4711abc.
        NUMBER = /\.?\d[\w.\u0080-\u{10ffff}]*+(?:(?<=[eE])[-+]\d+)?/.freeze
        OPERATORS = %r{[-+*/<>=!~%^&|,;:().?@]}.freeze
        # A comment up to the end of the line, which is only \n, as databases differ on other line ends.
        LINE_COMMENT = /--[^\r\n]*(?:\r?\n|\z)/.freeze
        HASH_COMMENT = /#[^\r\n]*(?:\r?\n|\z)/.freeze
        # A comment whose end is certain. PostgreSQL nests comments, others do not. MySQL executes some, and reads quotes in
        # hints.
        COMMENT = %r{/\*(?!!|M!|\+(?:(?!\*/).)*['"`])(?:(?!/\*|\*/).)*+\*/}m.freeze
        DOUBTFUL_COMMENT = %r{/\*|--|\#}.freeze
        STRING = /'(?:[^']|'')*+'/m.freeze
        ESCAPED_STRING = /'(?:[^'\\]|''|\\.)*+'/m.freeze
        # A string literal without a backslash before a quote, as the meaning of that depends on the server's settings.
        CERTAIN_STRING = /'(?:[^'\\]|''|\\[^'])*+'/m.freeze
        CERTAIN_DOUBLE = /"(?:[^"\\]|""|\\[^"])*+"/m.freeze
        DOUBLE = /"(?:[^"]|"")*+"/m.freeze
        BACKTICK = /`(?:[^`\\]|``)*+`/m.freeze
        DOLLAR_QUOTE = /\$((?:[A-Za-z_\u0080-\u{10ffff}][\w\u0080-\u{10ffff}]*)?)\$.*?\$\1\$/m.freeze
        BRACKETS = /\[[A-Za-z_][\w ]*\]/.freeze
        # Strings of unknown databases with a syntax of their own: q'[...]', U&'...', three quotes, a dollar in a word.
        ODD = /n?q'|u&['"]|\'{3}|"{3}|[\w\u0080-\u{10ffff}]+\$/i.freeze
        PREFIXED = /[xbn](?=')/i.freeze
        VALUES = /\A(?:true|false)\z/i.freeze
        DROPPED = " ..."
        # Characters, before lists of values are collapsed.
        ENOUGH = 800
        private_constant(*constants(false))

        # @param sql [String] in UTF-8
        # @param dialect [Symbol] as for {Sql.without_values}
        def initialize(sql, dialect)
          @scanner = StringScanner.new(sql)
          @dialect = dialect
          @names = Names.new if dialect == :sqlite
          @text = +""
        end

        # @return [String]
        def without_values
          until @scanner.eos?
            shown = token
            return @text << DROPPED if shown.nil? || @text.size > ENOUGH

            @text << shown
          end
          @text
        end

        private

        # Returns the next token, as it may be shown.
        #
        # @return [String, nil] nil if it is in doubt
        def token
          return " " if @scanner.skip(SPACE)
          return if @dialect == :unknown && @scanner.match?(ODD)

          shown =
            case @scanner.peek(1)
            when "(", ")", ",", "=", "*" then @scanner.getch
            when "'" then string
            when '"' then double
            when "`" then @scanner.scan(BACKTICK) if @dialect == :mysql || @dialect == :sqlite
            when "$" then dollar
            when "[", "]" then brackets
            when "/", "-", "#" then return comment_or_operator
            else @scanner.match?(WORD) ? word : plain
            end
          @names&.after(shown) if shown
          shown
        end

        def comment_or_operator
          return " " if comment?
          return @scanner.scan(OPERATORS) unless @scanner.match?(DOUBTFUL_COMMENT)

          @scanner.scan(/\#/) if @dialect == :postgresql
        end

        def comment?
          return true if @scanner.skip(COMMENT)
          return @scanner.skip(LINE_COMMENT) if @scanner.match?(@dialect == :mysql || @dialect == :unknown ? /--[ \t\n]/ : /--/)

          @scanner.skip(HASH_COMMENT) if @dialect == :mysql
        end

        def plain
          return @scanner.match?(/\$/) ? nil : "?" if @scanner.skip(NUMBER) || @scanner.skip(/\?\d+/)

          @scanner.scan(OPERATORS)
        end

        def word
          return value(@scanner.skip(ESCAPED_STRING)) if @dialect == :postgresql && @scanner.skip(/e(?=')/i)
          return string if @scanner.skip(PREFIXED)

          word = @scanner.scan(WORD)
          VALUES.match?(word) ? "?" : word
        end

        def string
          value(@scanner.skip(@dialect == :sqlite ? STRING : CERTAIN_STRING))
        end

        def value(found)
          found && "?"
        end

        # Scans text in double quotes: a name in PostgreSQL. In SQLite it is a string if nothing has that name.
        def double
          case @dialect
          when :postgresql then @scanner.scan(DOUBLE)
          when :sqlite
            name = @scanner.scan(DOUBLE) or return
            @names.certain?(@scanner) ? name : "?"
          else value(@scanner.skip(CERTAIN_DOUBLE))
          end
        end

        def dollar
          case @dialect
          when :postgresql
            return "?" if @scanner.skip(DOLLAR_QUOTE)

            @scanner.scan(/\$\d+(?![\w$\u0080-\u{10ffff}])/)
          when :sqlite then @scanner.scan(/\$[A-Za-z_]\w*(?![\w$:(\u0080-\u{10ffff}])/)
          end
        end

        def brackets
          case @dialect
          when :postgresql then @scanner.getch
          when :sqlite, :unknown then @scanner.scan(BRACKETS)
          end
        end
      end
    end
  end
end
