# frozen_string_literal: true

module Profiler
  module CLI
    # The output of +diff+ and +check+.
    module Compared
      # Changes that are shown if none is significant.
      LARGEST = 5
      MORE_RUNS = "More runs of each side would tell: profiler diff a1,a2,a3 b1,b2,b3"

      private

      # @return [Array<Profile>] of comma-separated files, each a run of one side
      def runs(text)
        files = text.split(",").reject(&:empty?)
        raise UsageError, "#{text.inspect} names no file" if files.empty?

        Progress.new.each("reading", files) { |path| read_filtered(path) }
      end

      def print_changes(found, rows, limit)
        puts broken(summary(found))
        puts
        return print_insignificant(found) if rows.empty?

        shown = limit.zero? ? rows : rows.first(limit)
        puts bold("#{"BEFORE".rjust(10)}  #{"AFTER".rjust(10)}  #{"CHANGE".rjust(18)}   FUNCTION")
        shown.each { |it| puts change_line(found, it) }
        puts dim("#{rows.size - shown.size} more left out (limit #{limit})") if rows.size > shown.size
      end

      # The largest changes, marked as what chance can bring.
      def print_insignificant(found)
        puts bold("No significant change.")
        rows = largest(found)
        return if rows.empty?

        puts broken("The largest ones, which can be chance (?). #{MORE_RUNS}")
        puts
        rows.each { |it| puts change_line(found, it) }
      end

      # @return [Array<Hash>] changes that are not significant
      def largest(found)
        found[:changes].reject { |it| it[:before] == it[:after] }.first(LARGEST)
      end

      def summary(found)
        type = found[:type]
        means = [found[:before], found[:after]].map { |it| amount(type, it.round) }
        spread = format(", runs differ %.1f times as much as samples explain", found[:spread]) if found[:spread] > 1.05
        "#{type}: #{means.join(" before, ")} after (a run); #{found[:samples].join(" and ")} samples; " \
          "#{found[:compared]} functions had enough of them to be compared#{spread}"
      end

      def change_line(found, it)
        delta = it[:after] - it[:before]
        text = "#{value(found, it[:before]).rjust(10)}  #{value(found, it[:after]).rjust(10)}  #{signed(found, delta).rjust(10)} #{ratio(it).rjust(7)}"
        mark = it[:significant] ? " " : "?"
        text = paint(text, delta.positive? ? 31 : 32) if it[:significant]
        name = fit(clean(it[:name]), columns - 45)
        rest = columns - 45 - name.size - 2
        location = "  #{dim(fit(place(it), rest))}" if rest > 12 || @full_paths
        "#{text} #{mark} #{name}#{location}".rstrip
      end

      def value(found, number)
        @absolute ? amount(found[:type], number.round) : format("%.2f%%", number * 100)
      end

      def signed(found, delta)
        "#{delta.negative? ? "-" : "+"}#{value(found, delta.abs)}"
      end

      def ratio(it)
        return "new" if it[:before].zero?
        return "gone" if it[:after].zero?

        format("%+.0f%%", ((it[:after] / it[:before]) - 1) * 100)
      end

      # A name in a table of GitHub's Markdown.
      def code(text)
        text = clean(text).gsub("|", "\\|")
        marks = "`" * ((text.scan(/`+/).map(&:size).max || 0) + 1)
        marks.size > 1 ? "#{marks} #{text} #{marks}" : "`#{text}`"
      end

      def markdown_changes(found, rows, limit)
        lead = rows.empty? ? ["No significant change. The largest ones can be chance. #{MORE_RUNS}", ""] : []
        rows = largest(found) if rows.empty?
        return ["No significant change."] if rows.empty?

        shown = limit.zero? ? rows : rows.first(limit)
        lines = ["| before | after | change | | function |", "|--:|--:|--:|--:|---|"]
        lines += shown.map do |it|
          delta = it[:after] - it[:before]
          name = it[:significant] ? "**#{code(it[:name])}**" : "#{code(it[:name])} (not significant)"
          "| #{value(found, it[:before])} | #{value(found, it[:after])} | #{signed(found, delta)} | #{ratio(it)} | #{name} |"
        end
        lines << "" << "#{rows.size - shown.size} more left out." if rows.size > shown.size
        lead + lines
      end
    end
  end
end
