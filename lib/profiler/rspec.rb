# frozen_string_literal: true

# If another copy of the gem is already loaded, loads the file of that copy.
if defined?(Profiler::HOME) && Profiler::HOME != File.expand_path("..", __dir__)
  require "#{Profiler::HOME}/profiler/rspec"
  return
end

require_relative "allocation_limit"

module Profiler
  # Matchers for RSpec, included by +require "profiler/rspec"+.
  module RSpec
    # The matcher of {RSpec#allocate_at_most}.
    class AllocateAtMost
      def initialize(limit)
        @limit = limit
        @options = {}
      end

      # Counts objects. The default.
      def objects
        with(unit: :objects)
      end

      # Counts the bytes of their slots.
      def bytes
        with(unit: :bytes)
      end

      # Counts only objects of this class.
      #
      # @param klass [Class, String]
      def of(klass)
        with(of: klass)
      end

      # Runs the block +times+ before, to fill caches.
      def warmed_up(times = 1)
        with(warm_up: times)
      end

      def matches?(block)
        @checked = AllocationLimit.new(@limit, **@options)
        @checked.keeps?(&block)
      end

      def supports_block_expectations?
        true
      end

      def supports_value_expectations?
        false
      end

      def description
        AllocationLimit.new(@limit, **@options).description
      end

      def failure_message
        @checked.message
      end

      def failure_message_when_negated
        @checked.negated_message
      end

      private

      def with(**options)
        @options.update(options)
        self
      end
    end

    class << self
      # @api private
      attr_reader :examples

      # @api private
      def profiled(example)
        require_relative "recording/examples"
        @examples ||= Recording::Examples.new
        requested = example.metadata[:profile]
        @examples.run(example.full_description, requested.is_a?(Hash) ? requested : {}) { example.run }
      end
    end

    # Limits the objects that a block allocates on its own thread, without those internal to the VM:
    #
    #   expect { parse(line) }.to allocate_at_most(10).objects
    #   expect { parse(line) }.to allocate_at_most(400).bytes.warmed_up
    #   expect { parse(line) }.to allocate_at_most(0).of(Hash)
    #
    # @param limit [Integer]
    # @return [AllocateAtMost]
    def allocate_at_most(limit)
      # RSpec may load its matchers after this file. With this module they combine by +and+ and +or+.
      AllocateAtMost.include(::RSpec::Matchers::Composable) if defined?(::RSpec::Matchers::Composable)
      AllocateAtMost.new(limit)
    end
  end
end

if defined?(RSpec.configure)
  RSpec.configure do |config|
    config.include(Profiler::RSpec)
    # Writes a file for each tagged example (`it "imports", :profile`, `profile: { mode: :allocations }`), or with
    # PROFILER_EXAMPLES=1 for all.
    tag = ENV["PROFILER_EXAMPLES"].to_s.empty? ? [:profile] : []
    config.around(:each, *tag) { |example| Profiler::RSpec.profiled(example) }
    config.after(:suite) { Profiler::RSpec.examples&.summary&.then { |it| config.reporter.message("\n#{it}") } }
  end
end
