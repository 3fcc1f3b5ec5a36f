# frozen_string_literal: true

module Profiler
  class Flight
    # The parts of the last minutes: profiles as the bytes of files. Those that are too old, or too large together, are dropped.
    #
    # A forked child begins with none.
    class Parts
      Part = Struct.new(:ended, :bytes)
      private_constant :Part

      def initialize(limits)
        @limits = limits
        @lock = Mutex.new
        @pid = Process.pid
        @parts = []
      end

      # Adds the newest part.
      #
      # @param bytes [String]
      def add(bytes)
        now = Continuous::Clock.now
        synchronize do
          @parts << Part.new(now, bytes)
          oldest = now - @limits.seconds - @limits.part
          @parts.shift while @parts.first.ended < oldest || (@parts.size > 1 && memory > @limits.memory)
        end
      end

      # @return [Array<String>] the oldest first
      def to_a
        synchronize { @parts.map(&:bytes) }
      end

      # Whether no file was claimed in that time. If so, it is claimed now.
      #
      # @param seconds [Numeric]
      def claim_save?(seconds)
        now = Continuous::Clock.now
        synchronize do
          next false if @claimed && now - @claimed < seconds

          @claimed = now
          true
        end
      end

      private

      def memory = @parts.sum { |part| part.bytes.bytesize }

      # An exception from outside waits until the parts are whole. In a forked child, a thread of the parent may hold the lock for
      # ever.
      def synchronize(&block)
        @lock, @pid, @parts, @claimed = Mutex.new, Process.pid, [], nil unless @pid == Process.pid
        @lock.synchronize(&block)
      end
    end
  end
end
