# frozen_string_literal: true

module Profiler
  # Finds the name that the user probably meant.
  #
  # Ruby 2 can read this file, as {Autoload::Settings} needs it.
  module Nearest
    class << self
      # @param word [String]
      # @param names [Array<String>]
      # @return [String, nil] the nearest one, if it is near enough to be meant: one slip for each four letters, and one at least
      def of(word, names)
        name = names.min_by { |it| distance(word, it) }
        name if name && distance(word, name) <= [word.size / 4, 1].max
      end

      private

      # Returns the number of letters that are missing, superfluous, wrong, or exchanged with their neighbours.
      def distance(one, other)
        before_last = nil
        last = (0..other.size).to_a
        one.each_char.with_index(1) do |letter, row|
          current = [row]
          other.each_char.with_index(1) do |other_letter, column|
            least = [last[column] + 1, current[column - 1] + 1, last[column - 1] + (letter == other_letter ? 0 : 1)].min
            exchanged = row > 1 && column > 1 && letter == other[column - 2] && one[row - 2] == other_letter
            current << (exchanged ? [least, before_last[column - 2] + 1].min : least)
          end
          before_last, last = last, current
        end
        last.last
      end
    end
  end
  private_constant :Nearest
end
