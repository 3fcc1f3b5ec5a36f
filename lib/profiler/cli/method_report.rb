# frozen_string_literal: true

require_relative "source"

module Profiler
  module CLI
    # Details of methods and lines, the output of +report --method+ and +annotate+.
    module MethodReport
      private

      # @param found [Array<Hash>] from {Profile#find_methods}
      def print_methods(found, total, limit)
        found.each_with_index do |it, place|
          puts if place.positive?
          puts bold(named_at(it, columns))
          puts "  total #{weight(it[:total], total)}   self #{weight(it[:self], total)}"
          print_calls("callers", it[:callers], total, limit)
          print_calls("callees", it[:callees], total, limit)
          print_source(it[:path], it[:lines].to_h { |line| [line[:line], line] }, total)
        end
      end

      def print_calls(title, calls, total, limit)
        return if calls.empty?

        puts "  #{title}"
        shown = limit.zero? ? calls : calls.first(limit)
        shown.each do |it|
          puts "    #{weight(it[:weight], total)}  #{it[:name] ? named_at(it, columns - 22) : "(nobody)"}"
        end
        puts dim("    #{calls.size - shown.size} more") if calls.size > shown.size
      end

      # @param weights [Hash{Integer => Hash}] +self total+ by line
      def print_source(path, weights, total)
        known = weights.reject { |line, _| line.zero? }
        return puts("  #{fit(clean(path), columns - 27)} (no line of it is known)") if known.empty?

        source = Source.new(@roots_of_source || ["."])
        text = source.lines_of(path)
        missing = " (not found here: lines without their text)" unless text
        puts "  #{fit(clean(path), columns - 2 - missing.to_s.size)}#{missing}"
        puts "  #{"TOTAL".rjust(16)}  #{"SELF".rjust(16)}   LINE"
        lines = text ? source.numbers_with_context(known.keys, text.size) + known.keys.select { |it| it > text.size }.sort : known.keys.sort
        lines.each { |line| puts line ? source_line(line, known[line], text, total) : dim("#{" " * 38}...") }
      end

      def source_line(line, it, text, total)
        weights = it ? "#{weight(it[:total], total)}  #{it[:self].zero? ? " " * 16 : weight(it[:self], total)}" : " " * 34
        code = text && text[line - 1] ? Native.clean(text[line - 1].gsub("\t", "  ").sub(/\A/, "|")) : ""
        "  #{weights}  #{line.to_s.rjust(5)} #{code.sub(/\A\|/, "")[0, [columns - 44, Lines::LEAST].max]}".rstrip
      end

      # A name and its place, in so many columns.
      def named_at(row, available)
        name = fit(clean(row[:name]), available)
        rest = available - name.size - 2
        rest > 12 || @full_paths ? "#{name}  #{dim(fit(place(row), rest))}".rstrip : name
      end

      def weight(number, total)
        "#{amount(@shown, number).rjust(9)} #{warm(percent(number, total).rjust(6), number.to_f / [total, 1].max)}"
      end
    end
  end
end
