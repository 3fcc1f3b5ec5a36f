# frozen_string_literal: true

# Checks comments, documents, help texts and messages for sentences that are too long, and for doc comments that begin with a
# relative clause: `ruby rakelib/prose.rb PATH...`. Which words to use is no business of a machine.
# Prints `file:line: problem`, then how many each directory has, and fails if there is one.
class Prose
  LONGEST = 40 # words of a sentence; 25 is the aim
  FIRST_WORDS = /\A(?:What|Who|Whose|Which|That|One|Of)\b/.freeze

  # Begins a paragraph without an empty line before it.
  ITEM = /\A\s*(?:[-*] |\d+\. |@\w+|\+[^+]+\+:: |\||#)/.freeze

  Problem = Struct.new(:file, :line, :text)
  Paragraph = Struct.new(:line, :text, :doc, :kind)

  def initialize(paths)
    @files = paths.flat_map { |path| File.directory?(path) ? inside(path) : path }.uniq.sort
  end

  # @return [Boolean] whether nothing was found
  def run(out = $stdout)
    found = @files.flat_map { |file| problems(file) }
    found.each { |it| out.puts "#{it.file}:#{it.line}: #{it.text}" }
    counts = found.group_by { |it| File.dirname(it.file) }.transform_values(&:size)
    counts.sort.each { |directory, count| out.puts format("%5d  %s", count, directory) }
    out.puts "prose: #{@files.size} files, #{found.size} problems"
    found.empty?
  end

  private

  def inside(directory)
    names = Dir.glob("**/*.{rb,rake,ru,rbs,rs,md}", base: directory).grep_v(%r{(?:^|/)(?:target|tmp|node_modules)/})
    names.map { |name| File.join(directory, name) }
  end

  def problems(file)
    paragraphs(file).flat_map do |it|
      plain = it.text.gsub(/`[^`]*`/, "`code`").gsub(/<tt>.*?<\/tt>|\+[^\s+]+\+|\]\([^)]*\)/, "`code`")
      texts = []
      texts << "a doc comment begins with #{plain[FIRST_WORDS]}: #{start(plain)}" if it.doc && plain.match?(FIRST_WORDS)
      long = it.kind == :string ? [] : sentences(plain).select { |sentence| words(sentence) > LONGEST }
      texts += long.map { |sentence| "a sentence of #{words(sentence)} words: #{start(sentence)}" }
      texts.map { |text| Problem.new(file, it.line, text) }
    end
  end

  def paragraphs(file)
    lines = File.readlines(file, chomp: true, encoding: Encoding::UTF_8)
    case File.extname(file)
    when ".md" then markdown(lines)
    when ".rs" then rust(lines)
    when ".rbs" then comments(lines, /\A\s*# ?/, /\A\s*(?:def|class|module|type|attr_|alias|[A-Z]\w*:)/)
    else
      comments(lines, /\A\s*#(?!!) ?/, /\A\s*(?:def|class|module|attr_|alias|[A-Z]\w* = )/) + trailing(lines, /\s#\s(.*)\z/) + strings(lines, file)
    end
  end

  # Comments behind code. What looks like one inside a string is read as well.
  def trailing(lines, mark)
    lines.each_with_index.filter_map do |line, index|
      text = line[mark, 1] unless line.match?(%r{\A\s*(?:#|//)})
      Paragraph.new(index + 1, text, false, :text) if text
    end
  end

  def rust(lines)
    %w[/// //!].flat_map { |mark| comments(lines, /\A\s*#{mark}(?!\/) ?/, //) } + comments(lines, %r{\A\s*//(?![/!]) ?}, /\Anever\z/) + trailing(lines, %r{\s//\s(.*)\z}) + lines.each_with_index.flat_map do |line, index|
      next [] if line.match?(%r{\A\s*//})

      line.scan(/"((?:[^"\\]|\\.)*)"/).flatten.select { |text| text.count(" ") > 1 }.map { |text| Paragraph.new(index + 1, text, false, :string) }
    end
  end

  # Blocks of whole-line comments; a block is a doc comment if what follows matches `definition`.
  def comments(lines, mark, definition)
    blocks = lines.each_with_index.slice_when { |(before, _), (after, _)| before.match?(mark) != after.match?(mark) }
    blocks.flat_map do |block|
      next [] unless block.first.first.match?(mark)

      after = lines[block.last.last + 1].to_s
      split(block.map { |line, index| [line.sub(mark, ""), index + 1] }, after.match?(definition))
    end
  end

  # Paragraphs without code; each item of a list and each YARD tag is one of its own.
  def split(lines, doc)
    paragraphs = []
    fenced = false
    fresh = true
    lines.each do |line, number|
      fenced = !fenced if line.start_with?("```")
      # Code is indented; so is what goes on from the line before.
      if fenced || line.match?(/\A(?:```|\s*\z)/) || (fresh && line.start_with?("  ") && !line.match?(ITEM)) || line.match?(/\A {4}/)
        fresh = true
      elsif fresh || line.match?(ITEM)
        text = line.strip.sub(/\A(?:@param \S+|@\w+|[-*]|\d+\.|#+)(?: \[[^\]]*\])?(?: |\z)/, "")
        paragraphs << Paragraph.new(number, text, doc && paragraphs.empty? && !line.match?(/\A\s*@/), :text)
        fresh = false
      else
        paragraphs.last.text += " #{line.strip}"
      end
    end
    paragraphs
  end

  def markdown(lines)
    split(lines.each_with_index.map { |line, index| [line.sub(/\A {1,3}(?=\S)/, ""), index + 1] }, false)
      .flat_map { |it| it.text.start_with?("|") ? it.text.split("|").map { |cell| Paragraph.new(it.line, cell.strip, false, :text) } : [it] }
      .reject { |it| it.text.match?(/\A(?:!\[|<)/) }
  end

  # Messages and help of the library, and the sentences of specs. What else a spec has in quotes is programs.
  def strings(lines, file)
    if file.end_with?("_spec.rb")
      return lines.each_with_index.filter_map do |line, index|
        text = line[/\A\s*(?:RSpec\.)?(?:describe|context|it|specify) "((?:[^"\\]|\\.)*)"/, 1]
        Paragraph.new(index + 1, text, false, :string) if text
      end
    end
    return [] if file.match?(%r{(?:^|/)spec/})

    require "ripper"
    Ripper.lex(lines.join("\n")).filter_map do |(line, _), type, text|
      next unless type == :on_tstring_content && text.count(" ") > 1

      text.each_line.each_with_index.map { |part, offset| Paragraph.new(line + offset, part, false, :string) }
    end.flatten
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
