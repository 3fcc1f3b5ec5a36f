# frozen_string_literal: true

module Profiler
  class Flight
    # The parts of the last minutes: profiles as the bytes of files. Those that are too old, or too large together, are dropped.
    class Parts
      Part = Struct.new(:ended, :bytes)
      private_constant :Part

      def initialize(limits)
        @limits = limits
        @lock = Mutex.new
        @parts = []
      end

      # Adds the newest part.
      #
      # @param bytes [String]
      def add(bytes)
        now = Clock.now
        @lock.synchronize do
          @parts << Part.new(now, bytes)
          drop_old(now)
          @parts.shift while @parts.size > 1 && memory > @limits.memory
        end
      end

      # @return [Array<String>] the oldest first
      def to_a
        now = Clock.now
        @lock.synchronize do
          drop_old(now)
          @parts.map(&:bytes)
        end
      end

      # Whether no file was claimed in that time. If so, it is claimed now.
      #
      # @param seconds [Numeric]
      def claim_save?(seconds)
        now = Clock.now
        @lock.synchronize do
          next false if @claimed && now - @claimed < seconds

          @claimed = now
          true
        end
      end

      private

      def memory = @parts.sum { |part| part.bytes.bytesize }

      def drop_old(now)
        oldest = now - @limits.seconds - @limits.part
        @parts.shift while @parts.first && @parts.first.ended < oldest
      end
    end
  end
end
