# frozen_string_literal: true

require "yaml"
require_relative "block"
require_relative "box"
require_relative "comparison"
require_relative "program"
require_relative "scenes"
require_relative "shell"

module Docs
  # A line of a document that is wrong. +got+ is what came out.
  Difference = Struct.new(:path, :line, :text, :got) do
    def to_s = ["#{path}:#{line}: #{text}", *got.to_s.lines.map { |entry| "    got  #{entry.chomp}" }].join("\n")
  end

  # A line that did not run, or whose output was not compared.
  Parsed = Struct.new(:path, :line, :text, :reason)

  # Runs or parses a block in a {Box} of its own.
  class Examination
    # @return [Array<Difference>]
    attr_reader :differences
    # @return [Integer] commands and programs that ran
    attr_reader :ran
    # @return [Array<Parsed>]
    attr_reader :parsed

    # @param scene [Hash] a value of {SCENES}
    def initialize(block, scene)
      @block = block
      @scene = scene
      @ran = 0
      @parsed = []
      @differences = examine
    end

    private

    def examine
      case @block.language
      when "ruby" then ruby
      when "" then shell(@block.commands)
      when "yaml" then yaml
      else other
      end
    end

    def difference(line, text, got = nil) = Difference.new(@block.path, line, text, got)

    def leave(line, text, reason) = @parsed << Parsed.new(@block.path, line, text, reason)

    def other
      reason = LANGUAGES[@block.language] or return [difference(@block.line, "rakelib/docs/scenes.rb has no language #{@block.language}")]
      leave(@block.line, "a block of #{@block.language}", reason)
      []
    end

    def ruby
      failure, line = Box.open(Array(@scene[:programs])) { |box| Program.new(@block, @scene, box).then { |built| @scene[:parsed] ? built.parse : built.run } }
      @scene[:parsed] ? leave(@block.line, "a block of Ruby", @scene[:parsed]) : @ran += 1
      failure ? [difference(line, "the block fails", failure.lines.first(8).join)] : []
    end

    # The steps of CI are run; all else is read.
    def yaml
      value = YAML.safe_load(@block.text)
      steps = value.is_a?(Array) ? value.filter_map { |entry| entry["run"] }.flat_map(&:lines) : []
      return other if steps.empty?

      shell(steps.map { |text| Command.new(@block.line + 1 + @block.text.lines.index { |line| line.include?(text.strip) }, text.chomp, []) })
    rescue Psych::SyntaxError => e
      [difference(@block.line + e.line, "no YAML", e.message)]
    end

    def shell(commands)
      left, running = commands.partition { |command| reason(command) }
      left.each { |command| leave(command.line, command.text, reason(command)) }
      faults = left.reject { |command| system("bash", "-n", "-c", command.text, err: File::NULL) }
      differences = faults.map { |command| difference(command.line, "no shell understands it") }
      return differences if running.empty?

      results = Box.open(Array(@scene[:programs])) { |box| Shell.new(running, @scene, box).run }
      differences + results.flat_map { |result| compared(result) }
    end

    def reason(command) = COMMANDS.find { |pattern, _| command.text.match?(pattern) }&.last

    def compared(result)
      command = result.command
      @ran += 1
      return [difference(command.line, "the command does not end", result.output)] unless result.status
      return [difference(command.line, "the command has status #{result.status}", result.output.lines.last(8).join)] unless result.status.zero?

      unless command.shown.empty? || output?
        leave(command.line + 1, command.shown.first, "the output of Ruby #{@scene[:output]}")
        return []
      end
      Comparison.missing(command.shown, result.output).map do |line|
        difference(command.line + 1 + command.shown.index(line), "shown #{line.strip}", Comparison.nearest(line, result.output).join("\n"))
      end
    end

    def output?
      @scene[:output].nil? || Gem::Requirement.new(@scene[:output]).satisfied_by?(Gem::Version.new(RUBY_VERSION))
    end
  end
end
