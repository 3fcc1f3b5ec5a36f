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
          puts bold("#{clean(it[:name])}  #{place(it)}")
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
          name = it[:name] ? "#{clean(it[:name])}  #{dim(place(it))}" : "(nobody)"
          puts "    #{weight(it[:weight], total)}  #{name}"
        end
        puts dim("    #{calls.size - shown.size} more") if calls.size > shown.size
      end

      # @param weights [Hash{Integer => Hash}] +self total+ by line
      def print_source(path, weights, total)
        known = weights.reject { |line, _| line.zero? }
        return puts("  #{clean(path)} (no line of it is known)") if known.empty?

        source = Source.new(@roots_of_source || ["."])
        text = source.lines_of(path)
        puts "  #{clean(path)}#{" (not found here: lines without their text)" unless text}"
        puts "  #{"TOTAL".rjust(16)}  #{"SELF".rjust(16)}   LINE"
        lines = text ? source.numbers_with_context(known.keys, text.size) + known.keys.select { |it| it > text.size }.sort : known.keys.sort
        lines.each { |line| puts line ? source_line(line, known[line], text, total) : dim("#{" " * 38}...") }
      end

      def source_line(line, it, text, total)
        columns = it ? "#{weight(it[:total], total)}  #{it[:self].zero? ? " " * 16 : weight(it[:self], total)}" : " " * 34
        code = text && text[line - 1] ? Native.clean(text[line - 1].gsub("\t", "  ").sub(/\A/, "|")) : ""
        "  #{columns}  #{line.to_s.rjust(5)} #{code.sub(/\A\|/, "")}".rstrip
      end

      def weight(number, total)
        "#{amount(@shown, number).rjust(9)} #{warm(percent(number, total).rjust(6), number.to_f / [total, 1].max)}"
      end
    end
  end
end
