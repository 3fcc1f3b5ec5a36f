# frozen_string_literal: true

module Docs
  # Compares what a document shows with what comes out: up to times, counts, sizes, shares, pids, dates, versions and directories.
  module Comparison
    # Patterns of what differs from run to run, and the word that stands in its place. The number of a line (file.rb:7) stays.
    VARIABLE = [
      [/, \d+ dropped\b/, ""], # most runs have no such samples
      [/(?<=% )of (?:the CPU time|one core)(?=\))/, ""], # of which the overhead is a share, by how long the program waited
      [/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/, "TIME"],
      [/\b\d{8}T\d{6}\.\d+-\d+-\h+\b|\b\d{8}-\d{6}\b/, "TIME"],
      [/\b\d+\.\d+\.\d+(?:p\d+|\w*)\b(?: \(.*?\))?/, "VERSION"],
      [%r{(?<![\w.>])/(?:[^/\s]+/)*(?=[^/\s])}, ""],
      [/(?<=profiler\.rb):\d+/, ""], # a line of our own
      [/(?<=\s)([-+])(?=\d)/, '\1 '],
      [/(?<![\w:.#-])\d[\d,_]*(?:\.\d+)?(?: ?(?:ns|us|ms|s|min|h|B|KiB|MiB|GiB|%)(?!\w))?(?!\w)/, "N"]
    ].freeze

    module_function

    # Documents may leave lines out, also by `...`, and may have them in another order.
    #
    # @return [Array<String>] the lines that are shown, and are not in the output
    def missing(shown, output)
      left = output.scrub.lines.map { |line| plain(line) }
      shown.reject do |line|
        line = plain(line)
        next true if ["", "..."].include?(line)

        index = left.index(line)
        left.delete_at(index) if index
      end
    end

    # @param shown [String] Ruby code of the value
    def same_value?(value, shown)
      plain(eval(shown).inspect) == plain(value.inspect) # rubocop:disable Security/Eval -- from our own document
    end

    # The lines that are most like one that was shown.
    def nearest(shown, output, count = 3)
      words = plain(shown).split
      output.scrub.lines(chomp: true).max_by(count) { |line| (plain(line).split & words).size - (line.size / 1_000.0) }
    end

    def plain(line)
      VARIABLE.reduce(line) { |text, (pattern, name)| text.gsub(pattern, name) }.split.join(" ")
    end
  end
end
