# frozen_string_literal: true

module Profiler
  module CLI
    # Source lines, with the weights beside them.
    class Source
      # Context lines around those with a weight.
      AROUND = 2

      # Files that are no text.
      COMPILED = /\.(?:so|bundle|dll|o)\z/.freeze

      # @param roots [Array<String>] directories for paths that are relative or do not exist
      def initialize(roots)
        @roots = roots
        @files = {}
      end

      # @param path [String]
      # @return [Array<String>, nil] nil if it cannot be read
      def lines_of(path)
        return if path.match?(COMPILED)

        @files.fetch(path) do
          found = [path, *@roots.map { |root| File.join(root, path) }].find { |it| File.file?(it) && File.size(it) < 10_000_000 }
          @files[path] = found && File.readlines(found, chomp: true, encoding: Encoding::UTF_8).map(&:scrub)
        rescue SystemCallError
          @files[path] = nil
        end
      end

      # Numbers of lines to show: those in +weighed+ with their context, with nil for gaps.
      #
      # @return [Array<Integer, nil>]
      def numbers_with_context(weighed, last)
        context = weighed.flat_map { |it| ((it - AROUND)..(it + AROUND)).to_a }.uniq.sort.select { |it| it.between?(1, last) }
        context.slice_when { |one, other| other > one + 1 }.flat_map { |run| [nil, *run] }.drop(1)
      end
    end
  end
end
