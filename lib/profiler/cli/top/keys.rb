# frozen_string_literal: true

module Profiler
  module CLI
    # The keys that a terminal sends, as names: characters, and +:up+, +:enter+ and the like.
    class Keys
      NAMED = { "\r" => :enter, "\n" => :enter, "\e" => :escape, "\u007F" => :backspace, "\b" => :backspace, "\u0003" => "q", "\u0004" => "q",
                "\e[A" => :up, "\e[B" => :down, "\eOA" => :up, "\eOB" => :down, "\e[5~" => :page_up, "\e[6~" => :page_down, "\e[H" => :home,
                "\e[F" => :end, "\eOH" => :home, "\eOF" => :end }.freeze
      # A sequence of the terminal, or a character.
      PATTERN = /\e\[[0-9;]*[A-Za-z~]|\eO[A-Z]|\e|./m
      private_constant :NAMED, :PATTERN

      # @param text [String] bytes as they came
      # @return [Array<String, Symbol>]
      def self.of(text)
        text.dup.force_encoding(Encoding::UTF_8).scrub("").scan(PATTERN).filter_map do |key|
          NAMED.fetch(key) { key if key.size == 1 && key.match?(/[[:print:]]/) }
        end
      end
    end
  end
end
