# frozen_string_literal: true

require_relative "policy"

module Profiler
  class Recording
    # Profiles single examples of a test suite, and lists the slowest.
    class Examples
      # Options of the policy. Nothing is refused for its rate, as tests run one by one.
      DEFAULTS = { mode: :cpu, timeline: true, keep: 1_000, rate: 1_000_000, duration: 3_600 }.freeze
      SLOWEST = 10
      private_constant :DEFAULTS, :SLOWEST

      # A profiled example: its name, +seconds+ and the location of its profile.
      Row = Struct.new(:name, :seconds, :location)

      # @param out [String] a directory
      # @param options [Hash] as for {Policy#initialize}
      def initialize(out: ENV["PROFILER_OUT_DIR"] || File.join("tmp", "profiler"), **options)
        @options = { out: out, **DEFAULTS, **options }
        @policies = {}
        @rows = []
      end

      # Runs the block, an example.
      #
      # @param requested [Hash] options for this one
      def run(name, requested = {}, &example)
        policy = @policies[requested] ||= Policy.new(**@options, **requested)
        # If no recording can start, for example on an unsupported Ruby, the example runs without one.
        recording = policy.quietly { policy.on_demand }
        return yield unless recording

        began = Clock.now
        begin
          recording.inside(&example)
        ensure
          result = policy.quietly { recording.finish(example: name) }
          @rows << Row.new(name, Clock.now - began, result&.location)
        end
      end

      # Returns the slowest examples, for the end of a suite; nil if there was none.
      def summary
        return if @rows.empty?

        rows = @rows.sort_by { |it| -it.seconds }.first(SLOWEST)
        lines = rows.map { |it| format("  %8.3f s  %s  %s", it.seconds, it.name, it.location) }
        ["[profiler] #{@rows.size} profiled, the slowest:", *lines, "           profiler view FILE shows one as a page"].join("\n")
      end
    end
  end
end
