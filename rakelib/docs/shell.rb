# frozen_string_literal: true

require "shellwords"

module Docs
  # Runs the commands of a block in one shell, one after another, and keeps what each prints.
  class Shell
    SECONDS = 120
    MARK = "\u0001"
    PID = /(?<![-\w])(?:PID|4711|31902)\b/.freeze # in the documents, of a process that runs

    # +output+ is that of a {Block} 's command; +status+ is nil if the shell never got there.
    Result = Struct.new(:command, :output, :status)

    # @param scene [Hash] a value of {SCENES}
    # @param box [Box]
    def initialize(commands, scene, box)
      @commands = commands
      @scene = scene
      @box = box
    end

    # @return [Array<Result>]
    def run
      File.write(@box.file("tmp/block.sh"), program)
      output, = @box.run("bash", "tmp/block.sh", seconds: SECONDS)
      before, *parts = output.split(/^#{MARK}begin\n/)
      results = @commands.zip(parts).map { |command, part| Result.new(command, part.to_s[/\A[^#{MARK}]*/], part.to_s[/#{MARK}(\d+)$/, 1]&.to_i) }
      results.first.output.prepend(before) unless before.to_s.strip.empty?
      results
    end

    # A command of the background has a second to begin, as a reader would need one.
    #
    # @return [String]
    def program
      lines = ["set -e", @scene[:before], "set +e"]
      samples.each { |name| lines << "[ -e #{name} ] || { mkdir -p #{File.dirname(name)}; cp sample.pb.gz #{name}; }" }
      @commands.each do |command|
        text = edited(command.text)
        lines << "echo '#{MARK}begin'" << text
        lines << "pid=$!; sleep 1" if text.match?(/&\s*\z/)
        lines << "printf '#{MARK}%s\\n' $?"
      end
      "#{lines.compact.join("\n")}\n"
    end

    private

    def edited(text)
      text = (@scene[:edit] || {}).reduce(text) { |edited, (from, to)| edited.gsub(from, to) }
      @box.local(text).gsub(PID, "$pid")
    end

    # The profiles that a block reads and does not write.
    def samples
      words = @commands.flat_map { |command| command.text.sub(/(?<=\s)#.*/, "").split(/[\s,;]+/) }
      written = words.each_cons(2).select { |option, _| %w[-o --out].include?(option) }.map(&:last)
      (words.grep(/\A[\w.\/*-]+\.pb\.gz\z/).uniq - written).map { |name| @box.local(name).sub("*", "1") }
    end
  end
end
