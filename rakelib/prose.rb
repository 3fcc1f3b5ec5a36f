# frozen_string_literal: true

# Checks the English of comments, documents, help texts and messages as far as a machine can: `ruby rakelib/prose.rb PATH...`.
# Prints `file:line: problem`, then how many each directory has, and fails if there is one.
class Prose
  LONGEST = 35 # words of a sentence; 25 is the aim
  FIRST_WORDS = /\A(?:What|Who|Whose|Which|That|One|Of)\b/.freeze

  # Banned patterns of the glossary, the replacement, and the reason. A word with a proper use beside the banned one (made,
  # folded, alive, place, row) is matched only with its neighbours.
  BANNED = [
    [/\blook(?:s|ed|ing)? at\b/i, "sample, observe, profile", "a sample was called a look"],
    [/\b(?:a|the|each|every|open|between|of|two|these) looks?\b/i, "sample", "the same, as a noun"],
    [/\bmoments?\b/i, "timeline event, instant", "the old name of a timeline event"],
    [/\bmade (?:objects|there|here)\b|\b(?:objects?|bytes|what|all|was|were|are|is)(?: (?:that|is|are|was|were|be|has|have|been))* made(?! (?:of|by|for|from|in|sure|available|anew|once|only|up)\b)/i,
     "allocated", "objects are allocated; files and threads may still be made"],
    [/\b(?:un)?told\b/i, "hooked, reported, informed by name", "`told` stood for hooked, reported and recorded"],
    [/\b(?:births?|bury|buried)\b/i, "thread start, thread exit", "threads and processes are not born"],
    [/\bborn\b/i, "started, created", "the same"],
    [/\bfrom near\b/i, "details of one method", "was the name of the callers, callees and lines of a method"],
    [/\b(?:honest|honesty|oddit(?:y|ies))\b/i, "disclosure, data quality", "the notes in a header"],
    [/\bstretch(?:es)?\b/i, "sampling window", "a window of consecutive objects"],
    [/\bfollow(?:s|ed)? objects\b|\b(?:objects?|what) (?:is|are|was) followed\b/i, "live objects", "objects are live or not; `followed by` stays"],
    [/\b(?:what|objects?|bytes)(?: (?:that|of it|is|are|was|were|still))+ alive\b/i, "live", "only of objects: a process may be alive"],
    [/\bgiv(?:es?|en|ing) away\b/i, "attribute to", "weights are attributed"],
    [/\b(?:samples?|records?|it|which|one) stands? for (?:time|objects|the|so|its|a block)\b/i, "weighs, is weighted by", "a sample has a weight"],
    [/\bwords of (?:your|its|their|the app's) own\b/i, "metadata", "words were metadata, tokens and strings at once"],
    [/\b(?:asked|asks?|asking) for\b/i, "requested, wanted by name", "options are requested"],
    [/\brooms?\b/i, "capacity, slot, buffer, space", "a buffer was a hand or a room"],
    [/\bhow manieth\b/i, "generation", "no English word"],
    [/\bStamps?\b/, "record header", "the old name of the header"],
    [/\bfolded (?:ticks?|signals?|overruns?)\b|\bfolds? (?:ticks?|signals?)\b/i, "coalesced", "folded stacks are a format, so only of ticks"],
    [/\bjudge[sd]?\b/i, "classify", "decisions of the pipeline are classifications"],
    # Sentences that someone who knows Ruby, and not this project, does not understand at first reading.
    [/\bcoalesced with the one before\b/i, "fewer samples than requested; sums of time are right", "a tick is ours"],
    [/\bwaits? interrupted by a tick\b|\bby a tick: a system call can end\b/i, "what Ruby and a C library do then", "the same"],
    [/\bgot one per\b/i, "one sample per", "of what?"],
    [/\bother sessions had it\b/i, "which engine was used, and why", "an engine is had by nobody"],
    [/\bis where the thread (?:was|is) found next\b/i, "is shown at the code that ran after it", "time is not a place"],
    [/\bpaid back within\b/i, "how long sampling stays below its share", "a debt is ours"],
    [/\bwhole periods, by chance\b|\bby chance one in as many\b/i, "in some periods all, in the others none", "a sum to be done in the head"],
    [/\(internal\) imemo\b/, "(internal to Ruby)", "the name of a struct in the VM"],
    [/\bgives?\b(?! (?:up|way)\b)/i, "is, has, returns, shows", "what gives what to whom?"],
    [/(?<!do |does |cost |costs )\b[Nn]othing (?:if|where)\b/, "nil, None, empty", "say which value; a method may do or cost nothing"],
    [/\bknown are\b|\btells no\b/i, "allowed: ..., known extensions: ...", "an error lists what is allowed"],
    [/\bdiscarded before names are resolved\b/i, "cost little, as no profile is made of them", "names are our business"]
  ].freeze

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

  # This file names what is banned.
  def inside(directory)
    names = Dir.glob("**/*.{rb,rake,ru,rbs,rs,md}", base: directory).grep_v(%r{(?:^|/)(?:target|tmp|node_modules)/})
    names.map { |name| File.join(directory, name) }.reject { |file| File.expand_path(file) == File.expand_path(__FILE__) }
  end

  def problems(file)
    paragraphs(file).flat_map do |it|
      plain = it.text.gsub(/`[^`]*`/, "`code`").gsub(/<tt>.*?<\/tt>|\+[^\s+]+\+|\]\([^)]*\)/, "`code`")
      texts = []
      texts << "a doc comment begins with #{plain[FIRST_WORDS]}: #{start(plain)}" if it.doc && plain.match?(FIRST_WORDS)
      long = it.kind == :string ? [] : sentences(plain).select { |sentence| words(sentence) > LONGEST }
      texts += long.map { |sentence| "a sentence of #{words(sentence)} words: #{start(sentence)}" }
      BANNED.each { |pattern, instead, _why| texts << "#{plain[pattern].inspect}, use: #{instead}" if plain.match?(pattern) }
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
