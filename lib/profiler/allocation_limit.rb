# frozen_string_literal: true

require_relative "../profiler"

module Profiler
  # A limit on the allocations of a block, with a message, for the matchers of test frameworks.
  #
  # @api private
  class AllocationLimit
    SITES = 10 # that a message lists
    UNITS = %i[objects bytes].freeze

    attr_reader :found

    def initialize(limit, unit: :objects, of: nil, warm_up: 0)
      unless Integer === limit && !limit.negative?
        raise ArgumentError, "#{AnyObject.text(limit)} is not a limit for objects (allowed: an Integer of 0 or more)"
      end
      raise ArgumentError, "unit: #{AnyObject.text(unit)} is not a unit (allowed: :objects, :bytes)" unless UNITS.include?(unit)

      @limit = limit
      @unit = unit
      @of = of
      @name = Allocations.name_of(of) if of
      @warm_up = warm_up
    end

    # Runs the block.
    #
    # @return [Boolean] whether it kept the limit
    def keeps?(&block)
      @found = Profiler.allocations_of(warm_up: @warm_up, &block)
      number <= @limit
    end

    def description
      "allocate at most #{@limit} #{@unit}#{" of #{@name}" if @name}"
    end

    # Returns the reason of a failure, with the places of allocation, the one with the most objects first.
    def message
      sites = found.of(@of).sort_by { |it| [-it[@unit], it.class_name, it.place] }
      lines = sites.first(SITES).map { |it| "  #{it}" }
      lines << "  and #{sites.size - SITES} other places" if sites.size > SITES
      ["expected the block to #{description}, but it allocated #{number}:", *lines].join("\n")
    end

    # Returns the reason of a failure when more were expected.
    def negated_message
      "expected the block not to #{description}, but it allocated #{number}"
    end

    private

    def number
      found.public_send(@unit, @of)
    end
  end
end
