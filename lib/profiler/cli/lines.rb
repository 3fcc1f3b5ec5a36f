# frozen_string_literal: true

module Profiler
  module CLI
    # Lines that fit the terminal.
    module Lines
      # The width if there is no terminal, or if it does not report its size.
      COLUMNS = 80
      # A smaller number in +COLUMNS+ is not believed.
      MIN_COLUMNS = 20
      MAX_COLUMNS = 10_000
      # A name or a path is cut to no less.
      MIN_NAME_COLUMNS = 12

      # Returns whether characters beyond ASCII are shown as such.
      def self.utf8? = Encoding.default_external == Encoding::UTF_8

      private

      # Returns the width of a line in columns: that of the terminal, or else of the variable +COLUMNS+.
      #
      # @param io [IO] the output
      def columns(io = $stdout)
        requested = [ENV["COLUMNS"].to_i, MAX_COLUMNS].min
        without_terminal = requested < MIN_COLUMNS ? COLUMNS : requested
        return without_terminal unless io.tty?

        require "io/console"
        columns = io.winsize.last
        columns.positive? ? columns : without_terminal
      rescue SystemCallError
        without_terminal
      end

      # Returns a sentence in lines that fit a terminal; in one line if the output is not a terminal.
      #
      # @return [Array<String>]
      def broken(line)
        $stdout.tty? ? wrapped(line, columns) : [line]
      end

      # Breaks a line at blanks. What follows is indented as far as the text, which is behind a gap or at the beginning.
      #
      # @return [Array<String>]
      def wrapped(line, width)
        return [line] if line.size <= width

        indent = line[/\A.*\S {2,}(?=\S)/].to_s.size
        indent = line[/\A */].size if indent.zero? || indent > width / 2
        # The blank that the last whole word ends at.
        head = line[0, width + 1].rindex(" ")
        return [line] if head.nil? || head <= indent

        [line[0, head].rstrip, *wrapped("#{" " * indent}#{line[head..-1].lstrip}", width)]
      end

      # Returns a name or a path that fits into +columns+, shortened in its middle.
      def fit(text, columns)
        columns = [columns, MIN_NAME_COLUMNS].max
        return text if text.size <= columns

        head = (columns - 3) / 2
        "#{text[0, head]}...#{text[-(columns - 3 - head)..-1]}"
      end
    end
  end
end
