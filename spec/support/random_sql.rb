# frozen_string_literal: true

# Random statements in which each value, and each comment, has something of {SECRET}, and nothing else does. What is generated is
# what the database reads: names and comments full of quotes stand around values in every form of literal that it knows.
class RandomSql
  DIALECTS = %i[postgresql mysql sqlite unknown].freeze
  SECRET = /[Z7]/.freeze

  WORDS = ["SELECT", "FROM", "WHERE", "a", "b", "a1", "SET", "INTO", "INSERT INTO t (a, b)", "UPDATE", "VALUES", "AND", "NULL", "AS", "IS DISTINCT FROM", "x", "e", "n"].freeze
  OPERATORS = ["=", "(", ")", ",", "||", "<=", ";", "*", "a.b"].freeze
  COMMENTS = ["/* it's Z */", "/* \" Z7 */", "-- it's Z\n", "-- \" ` Z\n", "/**/", "/* Z\n' -- */", "/* $$ Z */"].freeze
  MORE = {
    postgresql: ["/* a /* it's Z */ Z7 */", "/* /* Z */ ' */", '"it\'s"', '"a""b\'"', '"a`b"', "a$$b", "$1", "$23", "::text", "->", "#>>", "@>", "[", "]", "U&\"it's\""],
    mysql: ["# it's Z\n", "# \" Z\n", "`it's`", "`a\"b`", "`a``b'`", "@a", "/*! AND c = 'Z */ Z' */", "/*!40101 AND '*/Z' */"],
    sqlite: ['"t".a', 't."it\'s"', '"t"."it\'s"', "`it's`", "`a\"b`", "[it's]", "[a b]", "?1", ":name", "@name", "$name", "->>", "a$b"],
    unknown: ["[a b]", "[dbo].", "::text", "@name"],
  }.freeze
  NUMBERS = ["7", "77", ".77", "7.", "7.7", "7e7", "7E-77", "7.7e+7", "0x7F", "0x77", "7_7", "-7", "+7", "- 7"].freeze
  PIECES = ["Z", "7", "Z7", "'", '"', "`", "\\", " ", "$", "$$", "$x$", "-", "--", "/*", "*/", "#", "\n", "\r", "[", "]", "\u00e9", "?", "{", ",", "Z'Z", "E'"].freeze

  def initialize(dialect, random)
    @dialect = dialect
    @random = random
  end

  # @return [String]
  def statement
    parts = Array.new(@random.rand(1..12)) do
      case @random.rand(10)
      when 0..2 then WORDS
      when 3..4 then OPERATORS
      when 5 then COMMENTS
      when 6 then MORE.fetch(@dialect)
      else [value]
      end.sample(random: @random)
    end
    # Tokens that touch can be one.
    parts.join([" ", "\n", "\t"].sample(random: @random))
  end

  private

  def value
    return NUMBERS.sample(random: @random) if @random.rand(4).zero?

    send("#{@dialect}_value", "Z#{Array.new(@random.rand(8)) { PIECES.sample(random: @random) }.join}")
  end

  def standard(text) = "'#{text.gsub("'", "''")}'"

  # Both spellings of a quote in it.
  def escaped(text, quote = "'")
    "#{quote}#{text.gsub("\\") { "\\\\" }.gsub(quote) { ["\\#{quote}", quote * 2].sample(random: @random) }}#{quote}"
  end

  def dollars(text)
    tag = ["$$", "$a$", "$q_1$", "$\u00e9$"].find { |item| !"#{text}#{item[0..-2]}".include?(item) && !text.end_with?("$") }
    tag ? "#{tag}#{text}#{tag}" : standard(text)
  end

  def postgresql_value(text)
    [standard(text), "E#{escaped(text)}", "e#{escaped(text)}", dollars(text), "N#{standard(text)}", "x'77'", "B'7'", "U&#{standard(text)}", escaped(text)]
      .sample(random: @random)
  end

  # The server takes a backslash for itself, or not.
  def mysql_value(text)
    [escaped(text), standard(text), escaped(text, '"'), "\"#{text.gsub('"', '""')}\"", "N#{escaped(text)}", "_utf8mb4#{escaped(text)}", "x'77'", "b'7'"].sample(random: @random)
  end

  def sqlite_value(text)
    # Before an equals sign it could be a name.
    [standard(text), "= \"#{text.gsub('"', '""')}\"", "x'77'", "X'7F'"].sample(random: @random)
  end

  def unknown_value(text)
    [standard(text), escaped(text), escaped(text, '"'), "\"#{text.gsub('"', '""')}\"", "E#{escaped(text)}", dollars(text), "N#{standard(text)}", "q'[#{text.delete("]")}]'"]
      .sample(random: @random)
  end
end
