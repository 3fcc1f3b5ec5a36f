# frozen_string_literal: true

module Docs
  # Runs a block of Ruby under the line numbers of its document.
  class Program
    SECONDS = 90
    VALUE = /^(?<expression>\S.*?)(?<gap>\s*)# => (?<shown>.+(?:\n# {2,}.+)*)$/.freeze

    def initialize(block, scene, box)
      @block = block
      @scene = scene
      @box = box
    end

    # @return [Array(String, Integer), nil] why it failed, and the line of the document
    def run
      write(code)
      failure(*@box.run(*command, seconds: SECONDS))
    end

    # The syntax alone. Returns as {run}.
    def parse
      write(("\n" * @block.line) + @block.text)
      failure(*@box.run(RbConfig.ruby, "-c", @block.path, seconds: SECONDS))
    end

    # A value in a comment becomes an argument of +shown+, which the prelude has.
    def code
      text = @box.local(@block.text).gsub(VALUE) do |all|
        expression, shown = $~.values_at(:expression, :shown)
        "shown((#{expression}), #{shown.gsub(/\n# +/, " ").dump})#{"\n" * all.count("\n")}"
      end
      rspec? ? "RSpec.describe('a block') do #{"\n" * @block.line}#{text}\nend\n" : ("\n" * @block.line) + text
    end

    private

    def write(code)
      file = @box.file(@block.path)
      FileUtils.mkdir_p(File.dirname(file))
      File.write(file, code)
    end

    def failure(output, status)
      [output, output[/#{Regexp.escape(@block.path)}:(\d+)/, 1]&.to_i || @block.line] unless status&.success?
    end

    def rspec? = @scene[:with] == "rspec"

    def command
      preludes = ["./prelude", *@scene[:prelude]].flat_map { |item| ["-r", item] }
      case @scene[:with]
      when "rspec" then [RbConfig.ruby, "-S", "rspec", *preludes, @block.path]
      when "rackup" then [RbConfig.ruby, *preludes, "-e", "served(Rack::Builder.new_from_string(File.read(ARGV[0]), ARGV[0]))", @block.path]
      else [RbConfig.ruby, *preludes, @block.path]
      end
    end
  end
end
