# frozen_string_literal: true

# If another copy of the gem is already loaded, loads the file of that copy.
if defined?(Profiler::HOME) && Profiler::HOME != File.expand_path("..", __dir__)
  require "#{Profiler::HOME}/profiler/minitest"
  return
end

require_relative "allocation_limit"

module Profiler
  # Assertions for minitest: +require "profiler/minitest"+, and they are there.
  module Minitest
    # Each test of the class gets a profile: +include Profiler::Minitest::Profiled+.
    module Profiled
      def run
        result = nil
        Minitest.examples.run("#{self.class}##{name}") { result = super }
        result
      end
    end

    # @api private
    def self.examples
      require_relative "recording/examples"
      @examples ||= Recording::Examples.new.tap { |it| ::Minitest.after_run { puts it.summary } }
    end

    # Fails if the block allocates more than +limit+ on its own thread. Only objects that Ruby code can see count.
    #
    #   assert_allocates_at_most(10) { parse(line) }
    #   assert_allocates_at_most(0, of: Hash, warm_up: 1) { parse(line) }
    #
    # @param limit [Integer]
    # @param unit [Symbol] +:objects+ or +:bytes+, of their slots
    # @param of [Class, String, nil] only of this class
    # @param warm_up [Integer] how often to run the block before
    # @return [Allocations]
    def assert_allocates_at_most(limit, unit = :objects, of: nil, warm_up: 0, &block)
      raise ArgumentError, "no block given" unless block

      checked = AllocationLimit.new(limit, unit: unit, of: of, warm_up: warm_up)
      assert(checked.keeps?(&block), -> { checked.message })
      checked.found
    end
  end
end

Minitest::Assertions.include(Profiler::Minitest) if defined?(Minitest::Assertions)
