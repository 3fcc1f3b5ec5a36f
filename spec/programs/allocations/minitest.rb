# frozen_string_literal: true

# Asserts limits for allocations in minitest, or in what stands in for it. Prints the objects of a kept limit, and the messages
# of a broken and a wrong one.
require_relative "../helpers"

begin
  require "minitest"
rescue LoadError
  module Minitest; module Assertions; def assert(test, message) = test || raise(message.call); end; end
end
require "profiler/minitest"
extend Minitest::Assertions
class << self; attr_accessor :assertions; end
self.assertions = 0
kept = assert_allocates_at_most(2) { [Object.new] }.objects
broken = begin
  assert_allocates_at_most(1, of: String) { [String.new, String.new] }
rescue Exception => e # minitest's is no StandardError
  e.message
end
print_json([kept, broken, error { assert_allocates_at_most(-1) { } }])
