# frozen_string_literal: true

# Finds sentences of more than 40 words in comments and documents: `ruby rakelib/prose.rb PATH...`. It has no opinion on words;
# `rake lint:prose_advice` has a few. Prints `file:line: problem` and the number of problems by directory, and fails if there
# is one.
class Prose
  LONGEST = 40 # words of a sentence; 25 is the aim

  # Begins a paragraph without an empty line before it.
  ITEM = /\A\s*(?:[-*] |\d+\. |@\w+|\+[^+]+\+:: |\||#)/.freeze

  Problem = Struct.new(:file, :line, :text)
  Paragraph = Struct.new(:line, :text)

  def initialize(paths)
    @files = paths.flat_map { |path| File.directory?(path) ? inside(path) : path }.uniq.sort
  end

  # @return [Boolean] whether nothing was found
  def run(out = $stdout)
    found = @files.flat_map { |file| problems(file) }
    found.each { |problem| out.puts "#{problem.file}:#{problem.line}: #{problem.text}" }
    counts = found.group_by { |problem| File.dirname(problem.file) }.transform_values(&:size)
    counts.sort.each { |directory, count| out.puts format("%5d  %s", count, directory) }
    out.puts "prose: #{@files.size} files, #{found.size} problems"
    found.empty?
  end

  private

  def inside(directory)
    names = Dir.glob("**/*.{rb,rake,ru,rbs,rs,md,ts,tsx}", base: directory).grep_v(%r{(?:^|/)(?:target|tmp|node_modules)/})
    names.map { |name| File.join(directory, name) }
  end

  def problems(file)
    paragraphs(file).flat_map do |paragraph|
      plain = paragraph.text.gsub(/`[^`]*`/, "`code`").gsub(/<tt>.*?<\/tt>|\+[^\s+]+\+|\]\([^)]*\)/, "`code`")
      long = sentences(plain).select { |sentence| words(sentence) > LONGEST }
      long.map { |sentence| Problem.new(file, paragraph.line, "a sentence of #{words(sentence)} words: #{start(sentence)}") }
    end
  end

  def paragraphs(file)
    lines = File.readlines(file, chomp: true, encoding: Encoding::UTF_8)
    case File.extname(file)
    when ".md" then markdown(lines)
    when ".rs" then [%r{\A\s*/// ?}, %r{\A\s*//! ?}, %r{\A\s*//(?![/!]) ?}].flat_map { |mark| comments(lines, mark) } + trailing(lines, %r{\s//\s(.*)\z})
    when ".ts", ".tsx" then script(lines)
    else comments(lines, /\A\s*#(?!!) ?/) + trailing(lines, /\s#\s(.*)\z/)
    end
  end

  # Comments of TypeScript: blocks with an asterisk before each line, lines, and those behind code.
  def script(lines)
    lines = lines.map { |line| line.sub(%r{\s*\*/\s*\z}, "") }
    comments(lines, %r{\A\s*(?:/\*\*?|\*(?!/)) ?}) + comments(lines, %r{\A\s*// ?}) + trailing(lines, %r{\s//\s(.*)\z})
  end

  # Comments behind code. What looks like one inside a string is read as well.
  def trailing(lines, mark)
    lines.each_with_index.filter_map do |line, index|
      text = line[mark, 1] unless line.match?(%r{\A\s*(?:#|//)})
      Paragraph.new(index + 1, text) if text
    end
  end

  # Blocks of whole-line comments.
  def comments(lines, mark)
    blocks = lines.each_with_index.chunk_while { |(before, _), (after, _)| before.match?(mark) == after.match?(mark) }
    blocks.flat_map do |block|
      block.first.first.match?(mark) ? split(block.map { |line, index| [line.sub(mark, ""), index + 1] }) : []
    end
  end

  # Paragraphs without code; each item of a list and each YARD tag is one of its own.
  def split(lines)
    paragraphs = []
    fenced = false
    fresh = true
    lines.each do |line, number|
      fenced = !fenced if line.start_with?("```")
      # Code is indented; so is the continuation of the line before.
      if fenced || line.match?(/\A(?:```|\s*\z)/) || (fresh && line.start_with?("  ") && !line.match?(ITEM)) || line.match?(/\A {4}/)
        fresh = true
      elsif fresh || line.match?(ITEM)
        paragraphs << Paragraph.new(number, line.strip.sub(/\A(?:@param \S+|@\w+|[-*]|\d+\.|#+)(?: \[[^\]]*\])?(?: |\z)/, ""))
        fresh = false
      else
        paragraphs.last.text += " #{line.strip}"
      end
    end
    paragraphs
  end

  # Each cell of a table is a paragraph; pictures and HTML are none.
  def markdown(lines)
    split(lines.each_with_index.map { |line, index| [line.sub(/\A {1,3}(?=\S)/, ""), index + 1] })
      .flat_map { |found| found.text.start_with?("|") ? found.text.split("|").map { |cell| Paragraph.new(found.line, cell.strip) } : [found] }
      .reject { |found| found.text.match?(/\A(?:!\[|<)/) }
  end

  def sentences(text)
    text.split(/(?<=[.!?])["')]*\s+(?=[A-Z`"'(+{<*:\[])/)
  end

  def words(sentence)
    sentence.split.count { |word| word.match?(/[[:alnum:]]/) }
  end

  def start(text)
    text.length > 90 ? "#{text[0, 87]}..." : text
  end
end

exit Prose.new(ARGV.empty? ? %w[.] : ARGV).run if $PROGRAM_NAME == __FILE__
