# frozen_string_literal: true

module Profiler
  class Flight < Always
    # The parts of the last minutes: profiles as the bytes of files. Those that are too old, or too large together, are dropped.
    class Parts
      MINUTES = (0.1..1_440).freeze
      MEMORY = ((1 << 20)..(1 << 30)).freeze

      # The number of parts that the minutes are divided into. Up to one part more is kept.
      NUMBER = 30

      Part = Struct.new(:ended, :bytes)
      private_constant :NUMBER, :Part

      # The length of a part, in seconds.
      attr_reader :length

      # @param memory [Integer] bytes of all parts
      def initialize(minutes, memory)
        unless Integer === memory && MEMORY.cover?(memory)
          raise ArgumentError, "memory: #{AnyObject.text(memory)} is not an Integer from #{MEMORY.begin} to #{MEMORY.end} bytes"
        end

        @minutes = AnyObject.number("minutes", minutes, "a number from #{MINUTES.begin} to #{MINUTES.end}") { |number| MINUTES.cover?(number) }
        @memory = memory
        @length = (@minutes * 60.0 / NUMBER).clamp(0.2, 60)
        @lock = Mutex.new
        @parts = []
      end

      # Returns the empty parts of a forked child, which has only its own minutes.
      def of_child = Parts.new(@minutes, @memory)

      # Adds the newest part.
      def add(bytes)
        @lock.synchronize do
          @parts << Part.new(Clock.now, bytes)
          drop_old
          @parts.shift while @parts.size > 1 && @parts.sum { |part| part.bytes.bytesize } > @memory
        end
      end

      # @return [Array<String>] the oldest first
      def to_a
        @lock.synchronize do
          drop_old
          @parts.map(&:bytes)
        end
      end

      # Claims the right to save these minutes. Returns false if a file of the same minutes was claimed before.
      def claim_save?
        now = Clock.now
        @lock.synchronize do
          next false if @claimed && now - @claimed < @minutes * 60

          @claimed = now
          true
        end
      end

      private

      def drop_old
        oldest = Clock.now - @minutes * 60 - @length
        @parts.shift while @parts.first && @parts.first.ended < oldest
      end
    end
  end
end
