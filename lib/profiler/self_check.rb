# frozen_string_literal: true

module Profiler
  # Checks the needs of the profiler on a Ruby that is newer than those it was tested with. The first session of a process runs
  # the check, which collects garbage once.
  module SelfCheck
    OBJECTS = 100
    FRAMES = %w[Profiler::Native.probe Profiler::SelfCheck.probe].freeze

    # Whether this Ruby is newer than those that the profiler was tested with.
    NEEDED = !Native.untested.nil?

    class << self
      # @raise [Unsupported] if the check fails
      def demand
        raise Unsupported, unsupported_reason if unsupported_reason
      end

      # @return [String, nil] the reason why this Ruby is not supported; it is examined once
      def unsupported_reason
        @failure = examine unless defined?(@failure)
        return unless @failure

        "Ruby #{RUBY_VERSION} is newer than those that this version of profiler was tested with, and fails the self-check: #{@failure}"
      end

      # @return [String, nil] what this Ruby does otherwise than those before
      def examine
        names, objects, collected = probe
        if names.first(FRAMES.size) != FRAMES
          "a known stack was walked as #{names.first(FRAMES.size).inspect}"
        elsif objects != OBJECTS
          "the hook on allocation was called for #{objects} of #{OBJECTS} objects"
        elsif !collected
          "the hooks on garbage collection were not called"
        end
      end

      private

      def probe
        Native.probe(OBJECTS)
      end
    end
  end
end
