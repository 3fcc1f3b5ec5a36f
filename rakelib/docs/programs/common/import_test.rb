# frozen_string_literal: true

# A test, to which the block adds.

require "minitest/autorun"

class ImportTest < Minitest::Test
  def test_imports = assert(work)
end
