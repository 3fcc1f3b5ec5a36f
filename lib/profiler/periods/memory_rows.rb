# frozen_string_literal: true

require "json"
require_relative "../process/losses"

module Profiler
  # Rows of the memory of this process: kinds of resident memory and the classes with the most slots, one every so many seconds.
  # Their number is bounded: when there are too many, every second one is dropped.
  #
  # A row takes some milliseconds for each 100 MB, in which the process runs. If it takes long, rows are taken less often, so that
  # they take at most a hundredth of one CPU. A process that did nothing has the row of before, and none is taken.
  #
  # @api private
  class MemoryRows
    # The allowed seconds between two rows, and the default.
    EVERY = (1..86_400).freeze
    DEFAULT = 60
    # The largest number of rows.
    MOST = 1_440
    # The share of the seconds between rows that a period may end too early for the next one: periods end at full seconds.
    EARLY = 0.1
    # The CPU time that a row took, times this, passes before the next one.
    PAUSES = 100
    # The largest number of consecutive rows that are left out because nothing happened.
    MOST_SKIPPED = 10
    private_constant :MOST, :EARLY, :PAUSES, :MOST_SKIPPED

    # @param option [String] the option's name
    # @param every [Numeric, true] seconds
    # @raise [ArgumentError] for a value that is not allowed
    def initialize(option, every)
      every = DEFAULT if true.equal?(every) && option == "memory"
      @every = AnyObject.number(option, every, "a number of seconds from #{EVERY.begin} to #{EVERY.end}#{", true, false" if option == "memory"}") { |seconds| EVERY.cover?(seconds) }
      start_over
    end

    # Forgets all rows, as in a forked child.
    def start_over
      @rows = []
      @due = -Float::INFINITY
      @last = @state = nil
      @skipped = 0
      @losses = Losses.new("a row of memory was lost")
    end

    # The error of the last row that could not be taken.
    #
    # @return [Exception, nil]
    def error = @losses.error

    # The last row.
    #
    # @return [Hash, nil]
    def last = @last && JSON.parse(@last, symbolize_names: true)

    # The rows that were not handed over, in their order.
    #
    # @return [Array<Hash>]
    def to_a = @rows.map { |row| JSON.parse(row, symbolize_names: true) }

    # Takes a row if one is due.
    def take
      now = Clock.now
      return if now < @due || idle?

      @last = Native.memory_row
      @rows << @last
      @rows = @rows.each_slice(2).map(&:first) if @rows.size > MOST
      @due = now + [@every * (1 - EARLY), last.fetch(:cpu_ns, 0) / 1e9 * PAUSES].max
    rescue *RESCUED_ERRORS => e
      @due = now + @every
      @losses.add(e)
    end

    # Returns the rows, and forgets them.
    #
    # @return [Array<String>] in JSON
    def hand_over
      rows, @rows = @rows, []
      rows
    end

    private

    # Returns whether the process allocated and freed nothing since the last row.
    def idle?
      state = [GC.stat(:total_allocated_objects) / 10_000, File.read("/proc/self/statm").split[1].to_i / 256]
      same = state == @state && @skipped < MOST_SKIPPED
      @state = state
      @skipped = same ? @skipped + 1 : 0
      @due = Clock.now + (@every * (1 - EARLY)) if same
      same
    rescue SystemCallError
      false # the row says why there is none
    end
  end
  private_constant :MemoryRows
end
