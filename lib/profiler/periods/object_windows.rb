# frozen_string_literal: true

module Profiler
  class Periods
    # Decides in which periods objects are sampled: in as many as a share of the process's CPU time allows.
    #
    # The VM's hook takes time for each object, however seldom one is sampled. So it is enabled for whole periods, or not at
    # all. The overhead of a period is known without the hook, because the VM counts its objects.
    class ObjectWindows
      # The CPU time in seconds that the hook and the samples take per object. It is the largest value measured on Ruby 3.1 to
      # 3.4: see bench/README.md.
      COST = 70e-9

      # The part of the largest overhead that objects may take.
      PART = 0.5

      # Returns whether a session with these options has windows.
      #
      # @param options [Hash] as for {Profiler.start}
      def self.wanted?(options)
        modes = AnyObject.list(options[:mode])
        !options[:max_overhead].equal?(nil) && modes.include?(:allocations) && !modes.include?(:heap)
      end

      # @param share [Float] the largest overhead
      def initialize(share)
        @share = share * PART
        start_over
      end

      # Starts over, for example in a forked child.
      def start_over
        @random = Random.new # the app's own must continue as if we were not there, and each worker draws its own numbers
        @credit = 0.0
        @last = readings
      end

      # Takes the readings at the end of a period, and decides about the next one.
      #
      # @param sampled [Boolean] whether objects were sampled in this period
      # @return [Boolean] whether objects are sampled in the next one
      def next?(sampled)
        now = readings
        cpu, elapsed, objects = now.zip(@last).map { |one, other| [one - other, 0].max }
        @last = now
        # As for ticks, a process that uses less than a tenth of a CPU is counted as if it used that much.
        allowed = @share * [cpu, elapsed / 10].max
        cost = objects * COST
        @credit += allowed - (sampled ? cost : 0)
        # Credit lasts for one window; otherwise a quiet night would pay for a whole morning of windows.
        @credit = [@credit, [cost, allowed].max * 2].min
        return @credit >= 0 if cost <= allowed

        # The choice is random, because windows could otherwise fall into step with the work of the app.
        @credit >= cost && @random.rand < 0.5
      end

      private

      def readings = [Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID), Clock.now, GC.stat(:total_allocated_objects)]
    end
  end
end
