# frozen_string_literal: true

require_relative "../../spec/support/document"
require_relative "examination"
require_relative "names"

module Docs
  # Runs the blocks of documents and finds what differs from what they show: `ruby -Ilib rakelib/docs/check.rb README.md`.
  class Check
    ATTEMPTS = 3 # of a block: what a profile shows is chance on a machine that is busy

    # @return [Integer] commands and programs that ran
    attr_reader :ran
    # @return [Array<Parsed>]
    attr_reader :parsed

    # @param paths [Array<String>] documents
    # @param root [String] where they are
    # @param scenes [Hash] like {SCENES}
    def initialize(paths, root: Box::ROOT, scenes: SCENES, out: $stdout)
      @paths = paths
      @root = root
      @scenes = scenes
      @out = out
    end

    # @return [Array<Difference>]
    def run
      @ran = 0
      @parsed = []
      blocks = @paths.flat_map { |path| Block.of(@root, path) }
      differences = unused(blocks) + @paths.flat_map { |path| unknown_options(path) } + unknown_names
      differences += blocks.flat_map { |block| attempts(block) }
      tell(blocks)
      differences
    end

    private

    def unused(blocks)
      keys = @scenes.keys.select { |key| @paths.any? { |path| key.start_with?("#{path}: ") } } - blocks.map(&:key)
      keys.map { |key| Difference.new(key[/\A[^:]+/], 1, "no block #{key}, which rakelib/docs/scenes.rb has") }
    end

    # Commands and options that +profiler+ has not, also where a command does not run.
    def unknown_options(path)
      Document.new(File.join(@root, path)).unknown_commands.map do |text|
        line, problem = text.split(": ", 2)
        Difference.new(path, line.to_i, problem)
      end
    end

    def unknown_names
      Names.unknown(@root, @paths).map { |path, line, name| Difference.new(path, line, "there is no #{name}") }
    end

    # Runs a block again if its output differs.
    def attempts(block)
      examination = nil
      ATTEMPTS.times do
        @out.puts "once more: #{block.path}:#{block.line}" if examination
        examination = Examination.new(block, @scenes.fetch(block.key, {}))
        break if examination.differences.empty?
      end
      @ran += examination.ran
      @parsed.concat(examination.parsed)
      examination.differences
    end

    def tell(blocks)
      @out.puts "#{blocks.size} blocks of #{@paths.size} documents: #{@ran} commands and programs ran"
      @parsed.group_by(&:reason).each do |reason, all|
        @out.puts "#{all.size} not run or compared: #{reason}"
        all.each { |entry| @out.puts "    #{entry.path}:#{entry.line}: #{entry.text[/\A.{1,100}/]}" }
      end
    end
  end
end

if $PROGRAM_NAME == __FILE__
  differences = Docs::Check.new(ARGV).run
  puts differences
  puts "check:docs: #{differences.size} lines differ" if differences.any?
  exit differences.empty?
end
