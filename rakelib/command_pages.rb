# frozen_string_literal: true

require "fileutils"
require_relative "../lib/profiler/cli"

# Pages of docs/cli/ with the help text of each command, as a terminal of 80 columns shows it, and their list in docs/cli.md:
# `ruby rakelib/command_pages.rb` writes them.
class CommandPages
  TASK = "rake docs:cli"
  WIDTH = 80
  # The list stands between these lines.
  LIST = /(?<=<!-- #{TASK} -->\n).*?(?=<!-- end -->)/m.freeze

  # @param root [String] the directory of the checkout
  # @param commands [Hash{String => Class}]
  def initialize(root, commands = Profiler::CLI::COMMANDS.transform_values { |name| Profiler::CLI.const_get(name) })
    @index = File.join(root, "docs/cli.md")
    @directory = File.join(root, "docs/cli")
    @commands = commands
  end

  # Writes the pages that have changed, and removes those of commands that are gone.
  def write
    FileUtils.mkdir_p(@directory)
    strays.each { |file| File.delete(path(file)) }
    @commands.each_key { |name| File.write(path("#{name}.md"), page(name)) }
    File.write(@index, index.sub(LIST) { list })
  end

  # @return [Array<String>] sentences about pages that differ from the commands
  def problems
    changed = @commands.keys.reject { |name| page(name) == read(path("#{name}.md")) }
    found = changed.map { |name| "docs/cli/#{name}.md is not the help of profiler #{name}" }
    found += strays.map { |file| "docs/cli/#{file} is of no command" }
    found << "docs/cli.md does not list the commands" unless index[LIST] == list
    found.map { |problem| "#{problem}: run #{TASK}" }
  end

  private

  def page(name)
    <<~MD
      # profiler #{name}

      `profiler #{name} --help` prints this text. [All commands](../cli.md#commands)

      ```text
      #{@commands.fetch(name).new.help(WIDTH).chomp}
      ```
    MD
  end

  def list
    rows = @commands.map { |name, command| "| [`#{name}`](cli/#{name}.md) | #{command.summary} |\n" }
    "\n| command | |\n|---|---|\n#{rows.join}\n"
  end

  def strays
    Dir.glob("*.md", base: @directory) - @commands.keys.map { |name| "#{name}.md" }
  end

  def path(file)
    File.join(@directory, file)
  end

  def index
    read(@index) || ""
  end

  def read(path)
    File.read(path, encoding: Encoding::UTF_8) if File.exist?(path)
  end
end

CommandPages.new(File.expand_path("..", __dir__)).write if $PROGRAM_NAME == __FILE__
