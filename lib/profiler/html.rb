# frozen_string_literal: true

module Profiler
  # Text in the pages that Ruby writes.
  module Html
    # The entities of characters that have a meaning in HTML.
    ESCAPES = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;", "'" => "&#39;" }.freeze
    private_constant :ESCAPES

    # @param text [String] of any bytes
    # @return [String] text and values of attributes, never markup
    def self.escape(text)
      text.b.gsub(/[&<>"']/n, ESCAPES).force_encoding(Encoding::UTF_8).scrub("?")
    end
  end
  private_constant :Html
end
