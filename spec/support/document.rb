# frozen_string_literal: true

require "profiler/cli"
require "shellwords"

# A Markdown document of this repository: its headings, its links, and the commands that it shows.
class Document
  # A link in the text, or an image.
  Link = Struct.new(:line, :target)
  # A call of +profiler+ in a block that is not Ruby, or in a code span: the words after the program's name.
  Command = Struct.new(:line, :words)

  FENCE = /^ *```(\w*)\n(.*?)^ *```$/m.freeze
  SPAN = /(`+)(?!`)(.+?)(?<!`)\1(?!`)/m.freeze
  LINK = /\]\(\s*<?([^\s)>]+)>?[^)]*\)|\b(?:href|src)="([^"]+)"/.freeze
  SEPARATORS = ["&&", "||", "|", ";", "do", "{"].freeze

  # Characters of a line of prose. A table, a picture and a link on a line of its own may have more.
  WIDTH = 120

  attr_reader :path

  # @param path [String]
  def initialize(path)
    @path = path
    @text = File.read(path, encoding: Encoding::UTF_8)
  end

  # @return [Integer]
  def size
    @text.lines.size
  end

  # The anchors that GitHub adds to the headings: in lower case, without punctuation, hyphens for blanks, and numbers for
  # repetitions.
  #
  # @return [Array<String>]
  def anchors
    seen = Hash.new(0)
    without_code(spans: false).scan(/^\#{1,6} +(.+?)(?: +#+)? *$/).map do |(heading)|
      slug = heading.gsub(/\[([^\]]*)\]\([^)]*\)/, '\1').downcase.gsub(/[^\p{Word}\- ]/, "").tr(" ", "-")
      count = seen[slug]
      seen[slug] += 1
      count.zero? ? slug : "#{slug}-#{count}"
    end
  end

  # @return [Array<Link>] those into this repository
  def links
    each_match(without_code, LINK).map { |match, line| Link.new(line, match[1] || match[2]) }
                                  .reject { |match| match.target.match?(/\A[a-z][a-z+.-]*:/i) }
  end

  # @return [Array<Command>]
  def commands
    (in_blocks + in_spans).sort_by(&:line)
  end

  # @return [Array<String>] "line: problem" of each link whose file or heading is missing
  def dead_links
    links.filter_map do |link|
      file, anchor = link.target.split("#", 2)
      target = file.empty? ? path : File.expand_path(file, File.dirname(path))
      next "#{link.line}: no file #{file}" unless File.exist?(target)
      next if anchor.nil?

      "#{link.line}: no heading ##{anchor} in #{File.basename(target)}" unless Document.new(target).anchors.include?(anchor)
    end
  end

  # @return [Array<String>] "line: problem" of each call that +profiler+ would not understand
  def unknown_commands
    commands.flat_map { |command| faults(command.words).map { |fault| "#{command.line}: #{fault}" } }
  end

  # @return [Array<String>] "line: how many" of each line of prose that is too long
  def long_lines
    without_code(spans: false).lines(chomp: true).each_with_index.filter_map do |line, at|
      "#{at + 1}: #{line.size} characters" if line.size > WIDTH && line.include?(" ") && !line.match?(/\A *(\||!\[|<)/)
    end
  end

  private

  def faults(words)
    name, *rest = words
    return [] if %w[--version -V --help -h ruby].include?(name) || (name == "help" && rest.size <= 1)

    command = Profiler::CLI::COMMANDS[Profiler::CLI::ALIASES.fetch(name, name)]
    return ["profiler has no command #{name}"] unless command

    known = Profiler::CLI.const_get(command).new.help.scan(/^ +(-\w), (--[a-z-]+)|^ +(--[a-z-]+)/).flatten.compact
    used = rest.take_while { |word| word != "--" }.grep(/\A-./).map { |word| word[/\A(?:--[\w-]+|-\w)/] || word }
    (used - known).map { |option| "profiler #{name} has no option #{option}" }
  end

  # In a block with prompts, what has none is output.
  def in_blocks
    each_match(@text, FENCE).flat_map do |match, first|
      next [] if match[1] == "ruby"

      lines = match[2].lines(chomp: true).each_with_index.map { |line, index| [line, first + 1 + index] }
      prompted = lines.select { |line, _| line.match?(/\A\s*\$ /) }
      (prompted.any? ? prompted : lines).flat_map { |line, number| calls(line.sub(/\A\s*\$ /, ""), number) }
    end
  end

  # In a span, the program comes first; in a message of its own it has a colon.
  def in_spans
    text = @text.gsub(FENCE) { |block| block.gsub(/[^\n]/, "") }
    each_match(text, SPAN).flat_map { |match, line| match[2].match?(/\Aprofiler \S/) ? calls(match[2].tr("\n", " "), line) : [] }
  end

  # @return [Array<Command>] the calls of +profiler+ in one line of a shell
  def calls(line, number)
    simple = words(line).slice_when { |before, after| SEPARATORS.include?(before) || SEPARATORS.include?(after) }
    simple.filter_map do |words|
      words = words.drop_while { |word| word.match?(/\A\w+=|\A(?:bundle|exec|run:)\z|\A-\z/) }
      Command.new(number, words.drop(1)) if words.size > 1 && words.first.match?(%r{\A(?:exe/|bin/)?profiler\z})
    end
  end

  # As a shell splits them: separators are words of their own, comments and redirections are gone.
  def words(line)
    line = line.gsub(/(?<!\S)#.*|\d?>{1,2} *\S+/, "").gsub(/<\(|\$\(|[()]/, " ; ").gsub(/;/, " ; ")
    Shellwords.split(line)
  rescue ArgumentError
    line.split # a quote is left open: prose, or a program of several lines
  end

  # The text with its code blanked, so that lines keep their numbers.
  def without_code(spans: true)
    text = @text.gsub(FENCE) { |block| block.gsub(/[^\n]/, "") }
    spans ? text.gsub(SPAN) { |span| span.gsub(/[^\n]/, "") } : text
  end

  def each_match(text, pattern)
    found = []
    text.scan(pattern) { found << [$~, $~.pre_match.count("\n") + 1] }
    found
  end
end
