# frozen_string_literal: true

require_relative "rate_limit"

module Profiler
  class Recording
    # Limits concurrent recordings and profiles per minute, in each process.
    class Limits
      # @param concurrency [Integer] at once
      # @param rate [Integer] in a minute
      def initialize(concurrency, rate)
        @concurrency = concurrency
        @rate = rate
        @rate_limit = RateLimit.new(rate)
        @mutex = Mutex.new
        start_over
      end

      # Takes a slot for +holder+, until {leave}. An exception from outside may prevent that call, so a holder that is over does
      # not count any more.
      #
      # @param holder [#over?] by its identity
      # @return [nil, String] the reason of a refusal
      def enter(holder)
        @mutex.synchronize do
          @inside.delete_if { |it, _| it.over? }
          return "#{@concurrency} profiles are running already" if @inside.size >= @concurrency
          return "#{@rate} profiles were taken within a minute" unless @rate_limit.allow?

          @inside[holder] = true
          nil
        end
      end

      # Frees the slot of +holder+. A no-op when called again.
      def leave(holder)
        @inside.delete(holder)
      end

      # Returns whether a slot is taken.
      def any? = @inside.each_key.any? { |it| !it.over? }

      # Frees all slots in a forked child, as they are the parent's.
      def start_over
        @inside = {}.compare_by_identity
        @rate_limit.start_over
      end
    end
  end
end
