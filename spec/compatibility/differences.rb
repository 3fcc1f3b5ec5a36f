# frozen_string_literal: true

module Compatibility
  # A test that ends otherwise with us, for a reason that a user would accept. ways is nil where it is all of them.
  Difference = Struct.new(:suite, :test, :ways, :reason, keyword_init: true)

  DIFFERENCES = [
  ].freeze

  def self.reason(suite, test, way)
    DIFFERENCES.find { |it| it.suite == suite && it.test === test && (it.ways.nil? || it.ways.include?(way)) }&.reason
  end
end
