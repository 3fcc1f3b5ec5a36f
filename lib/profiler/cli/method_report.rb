# frozen_string_literal: true

require_relative "source"

module Profiler
  module CLI
    # Details of methods and lines, the output of +report --method+ and +annotate+.
    module MethodReport
      private

      # @param found [Array<Hash>] from {Profile#find_methods}
      def print_methods(found, whole, limit)
        found.each_with_index do |it, place|
          puts if place.positive?
          puts bold("#{clean(it[:name])}  #{place(it)}")
          puts "  total #{weight(it[:total], whole)}   self #{weight(it[:self], whole)}"
          print_calls("callers", it[:callers], whole, limit)
          print_calls("callees", it[:callees], whole, limit)
          print_source(it[:path], it[:lines].to_h { |line| [line[:line], line] }, whole)
        end
      end

      def print_calls(title, calls, whole, limit)
        return if calls.empty?

        puts "  #{title}"
        shown = limit.zero? ? calls : calls.first(limit)
        shown.each do |it|
          name = it[:name] ? "#{clean(it[:name])}  #{dim(place(it))}" : "(nobody)"
          puts "    #{weight(it[:weight], whole)}  #{name}"
        end
        puts dim("    #{calls.size - shown.size} more") if calls.size > shown.size
      end

      # @param weights [Hash{Integer => Hash}] +self total+ by line
      def print_source(path, weights, whole)
        known = weights.reject { |line, _| line.zero? }
        return if known.empty?

        source = Source.new(@roots_of_source || ["."])
        text = source.lines_of(path)
        puts "  #{clean(path)}#{" (not found here: lines without their text)" unless text}"
        puts "  #{"TOTAL".rjust(16)}  #{"SELF".rjust(16)}   LINE"
        lines = text ? source.shown(known.keys, text.size) | (known.keys.select { |it| it > text.size }) : known.keys.sort
        lines.each { |line| puts line ? source_line(line, known[line], text, whole) : dim("#{" " * 38}...") }
      end

      def source_line(line, it, text, whole)
        said = it ? "#{weight(it[:total], whole)}  #{it[:self].zero? ? " " * 16 : weight(it[:self], whole)}" : " " * 34
        code = text && text[line - 1] ? Native.clean(text[line - 1].gsub("\t", "  ").sub(/\A/, "|")) : ""
        "  #{said}  #{line.to_s.rjust(5)} #{code.sub(/\A\|/, "")}".rstrip
      end

      def weight(number, whole)
        "#{amount(@shown, number).rjust(9)} #{warm(percent(number, whole).rjust(6), number.to_f / [whole, 1].max)}"
      end
    end
  end
end
