# frozen_string_literal: true

require_relative "../store/directory"
require_relative "always"
require_relative "periods"

module Profiler
  # A session for the life of the process, in one profile for each period. {Profiler.continuous} starts it.
  #
  # A thread of its own ends each period and delivers the profile. A forked child continues by itself, with a thread of its own.
  class Continuous < Always
    NAME = "a continuous session"

    # Periods that are allowed, seconds.
    PERIODS = (0.1..86_400).freeze

    # Seconds that {stop} and {flush} wait for a profile to be delivered.
    PATIENCE = Ends::PATIENCE

    class << self
      # The one that runs in this process.
      #
      # @return [Continuous, nil]
      def current = Always.find(self)

      # @param sink [#call, Directory]
      # @api private
      # @see Profiler.continuous
      def start(sink, period, options)
        unless period.is_a?(Numeric) && PERIODS.cover?(period)
          raise ArgumentError, "period: #{period.inspect} is not a number of seconds from #{PERIODS.begin} to #{PERIODS.end}"
        end

        Always.claim(self) { new(sink, period, Periods.with_defaults(options)) }
      end
    end

    # The number of profiles that were delivered in this process.
    #
    # @return [Integer]
    attr_reader :delivered

    # @api private
    def initialize(sink, period, options)
      @sink = sink
      begin_account
      @periods = Periods.new(self, "continuous", period, options)
    end

    # The number of profiles that were lost in this process, as the block or the disk failed, or another owner took SIGPROF.
    #
    # @return [Integer]
    def lost = @losses.count

    # Ends the session and delivers the last profile. It does nothing if the session is over.
    #
    # @return [Boolean] whether all profiles are delivered, or lost by an error; false if that took longer than {PATIENCE}
    def stop = @periods.stop

    # Ends the period now, and delivers its profile.
    #
    # @return [Boolean] whether it was delivered, or lost by an error, within {PATIENCE}
    def flush = @periods.flush

    # @api private
    def take(profile)
      own_thread? ? @sink.call(profile) : @sink.write(profile)
      @delivered += 1
    end

    # @api private
    def own_thread? = !@sink.is_a?(Directory)

    # @api private
    def process_ends(_error, till) = @periods.finish(till)

    # @api private
    def forked(_same)
      begin_account
      @periods = @periods.in_child
    end

    private

    def begin_account
      @delivered = 0
      @losses = Losses.new("a profile was lost")
    end
  end
end
