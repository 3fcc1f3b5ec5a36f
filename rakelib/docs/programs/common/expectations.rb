# frozen_string_literal: true

# RSpec's expectations and Minitest's assertions, outside of a test.

require "rspec/expectations"
require "profiler/rspec"
require "minitest/assertions"
require "profiler/minitest"

include RSpec::Matchers # rubocop:disable Style/MixinUsage -- so are blocks
include Minitest::Assertions # rubocop:disable Style/MixinUsage
include Profiler::RSpec # rubocop:disable Style/MixinUsage
singleton_class.attr_accessor :assertions

self.assertions = 0
