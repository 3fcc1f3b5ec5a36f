# frozen_string_literal: true

module Profiler
  class Flight
    # The time and memory that a flight recorder keeps.
    class Limits
      MINUTES = (0.1..1_440).freeze
      MEMORY = ((1 << 20)..(1 << 30)).freeze

      # Parts that the minutes are kept in. So up to one part more is kept.
      PARTS = 30
      private_constant :PARTS

      # Seconds of the minutes.
      attr_reader :seconds
      # Bytes of all parts.
      attr_reader :memory

      # @raise [ArgumentError]
      def initialize(minutes, memory)
        unless minutes.is_a?(Numeric) && minutes.real? && MINUTES.cover?(minutes)
          raise ArgumentError, "minutes: #{minutes.inspect} is not a number from #{MINUTES.begin} to #{MINUTES.end}"
        end
        unless memory.is_a?(Integer) && MEMORY.cover?(memory)
          raise ArgumentError, "memory: #{memory.inspect} is not an Integer from #{MEMORY.begin} to #{MEMORY.end} bytes"
        end

        @seconds = minutes * 60.0
        @memory = memory
      end

      # Seconds of one part.
      def part = (@seconds / PARTS).clamp(0.2, 60)
    end
  end
end
