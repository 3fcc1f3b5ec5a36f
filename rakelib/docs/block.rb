# frozen_string_literal: true

module Docs
  # A line of a shell, and the lines that are shown after it.
  Command = Struct.new(:line, :text, :shown)

  # A fenced block of a document, with the heading above it. +place+ counts the blocks of that heading.
  Block = Struct.new(:path, :line, :heading, :place, :language, :text) do
    # @param root [String]
    # @param path [String] relative to it
    # @return [Array<Block>]
    def self.of(root, path)
      blocks = []
      heading = open = nil
      File.foreach(File.join(root, path), chomp: true, encoding: Encoding::UTF_8).with_index(1) do |line, number|
        if open
          next open.text << line << "\n" unless line.match?(/\A *```\z/)

          blocks << open
          open = nil
        elsif (fence = line.match(/\A *```(\w*)/))
          open = new(path, number, heading, blocks.count { |block| block.heading == heading } + 1, fence[1], +"")
        else
          heading = line[/\A#+ +(.*)/, 1] || heading
        end
      end
      raise "#{path}:#{open.line}: the block does not end" if open

      blocks
    end

    # The name of the block in the table of scenes.
    def key
      place == 1 ? "#{path}: #{heading}" : "#{path}: #{heading}, #{place}"
    end

    # The commands of a shell. Where no line has a prompt, each is one.
    #
    # @return [Array<Command>]
    def commands
      prompts = text.match?(/^\$ /)
      text.lines(chomp: true).each_with_index.with_object([]) do |(shown, index), commands|
        if prompts && !shown.start_with?("$ ")
          commands.last.shown << shown
        else
          commands << Command.new(line + 1 + index, shown.delete_prefix("$ "), [])
        end
      end
    end
  end
end
