# frozen_string_literal: true

require_relative "always"
require_relative "memory_rows"
require_relative "periods"

module Profiler
  # Rows of the memory of this process over time. {Profiler.memory} with +every+ starts it.
  #
  #   log = Profiler.memory(every: 60)
  #   log.rows.last[:kinds]   # => {main_arena: 91226112, files: 11534336, ...}
  #
  # It has a clock like that of a continuous session, and no session: nothing is profiled. A forked child continues by itself, with
  # its own rows.
  class MemoryLog < Always
    NAME = "a log of memory"

    # A profile without a sample, which is not delivered.
    NOTHING = Struct.new(:stats).new({ samples: 0, requests: 0 }.freeze).freeze
    private_constant :NOTHING

    # What the periods have in place of a session.
    class NoSession
      def running? = !@over
      def paused? = false
      def rotate(gently: false) = nil

      def stop
        @over = true
        NOTHING
      end
      alias discard stop
    end
    private_constant :NoSession

    class << self
      # Returns the log that runs in this process.
      #
      # @return [MemoryLog, nil]
      def current = Always.find(self)

      # @api private
      # @see Profiler.memory
      def start(every)
        rows = MemoryRows.new("every", every)
        Always.claim(self) { new(rows, every) }
      end
    end

    # @api private
    def initialize(rows, every)
      @memory = rows
      @losses = Losses.new("a row of memory was lost")
      @periods = Periods.new(self, "memory", every, {})
    end

    # Returns the rows of this process so far, 1,440 at most: +:at_ns+, +:rss+, +:swapped+, +:malloc+, +:kinds+ and +:classes+.
    #
    # @return [Array<Hash>]
    def rows = @memory.to_a

    # Returns the last row.
    #
    # @return [Hash, nil]
    def last = @memory.last

    # Returns the last error, or nil.
    #
    # @return [Exception, nil]
    def error = @memory.error || super

    # Ends the log. Its rows stay.
    #
    # @return [Boolean] false if its thread did not end within {Ends::PATIENCE}
    def stop = @periods.stop

    # @api private
    def start
      @memory.take
      super
    end

    # Starts nothing.
    #
    # @api private
    def begin_session(_options, _windows) = yield(NoSession.new)

    # @api private
    def take(_profile) = nil

    # @api private
    def period_ended = @memory.take

    # @api private
    def process_ends(_error, till) = @periods.discard(till)

    # @api private
    def end_period(_till) = nil

    # @api private
    def forked(same)
      @memory.start_over unless same
      @periods = @periods.in_child
    end
  end
end
