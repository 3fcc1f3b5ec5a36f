# frozen_string_literal: true

module Profiler
  module CLI
    # The page of two sides, as +view+ and +diff+ write it.
    class Comparison
      # @param names [Array<String>] the comma-separated files of each side
      # @param before [Array<Profile>]
      # @param after [Array<Profile>]
      def initialize(*names, before, after)
        @names = names.map { |it| CLI.files(it) }
        @before = before
        @after = after
      end

      # @param type [String, nil] the sample type to begin with
      # @return [String] the page
      def page(type: nil)
        before, after = @names.map { |side| side.map { |it| CLI.text(File.basename(it)) } }
        title = [before, after].map(&:first).join(" \u2192 ")
        Native.diff_page(@before, @after, { type: type, title: title, before: before, after: after })
      end

      # @param file [String] a new file; readable only by its owner
      def write(file, type: nil)
        page = page(type: type)
        File.open(file, "wbx", 0o600) { |it| it.write(page) }
      end

      # Returns the facts for +--json+.
      def facts(file)
        before, after = @names
        { file: file, format: "html", bytes: File.size(file), before_files: before, after_files: after }
      end
    end
  end
end
