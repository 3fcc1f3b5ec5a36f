# frozen_string_literal: true

require_relative "../store/directory"
require_relative "always"
require_relative "periods"

module Profiler
  # A session for the life of the process, in one profile for each period. {Profiler.continuous} starts it.
  #
  # A thread of its own ends each period and delivers the profile. A forked child continues by itself, with a thread of its own.
  class Continuous
    # Periods that are allowed, seconds.
    PERIODS = (0.1..86_400).freeze

    # Seconds that {stop} and {flush} wait for a profile to be delivered.
    PATIENCE = Ends::PATIENCE

    class << self
      # The one that runs in this process.
      #
      # @return [Continuous, nil]
      def current = Always.find(:continuous)

      # @param sink [#call, Directory]
      # @api private
      # @see Profiler.continuous
      def start(sink, period, options)
        unless period.is_a?(Numeric) && PERIODS.cover?(period)
          raise ArgumentError, "period: #{period.inspect} is not a number of seconds from #{PERIODS.begin} to #{PERIODS.end}"
        end

        Always.claim(:continuous) { new(sink, period, Periods.with_defaults(options)) }
      end

      # The taker of the profiles: the block, or a directory.
      #
      # @return [#call, Directory]
      # @raise [ArgumentError, SystemCallError] for a directory that cannot be used, or with both or none of them
      # @api private
      def sink(out, format, keep, block)
        raise ArgumentError, "no block given, and no out:" unless out || block
        raise ArgumentError, "out: and a block are given (allowed: one of them)" if out && block

        block || Directory.new(out, format: format, keep: keep).tap(&:prepare)
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
    def lost(error = nil)
      error ? @losses.add(error) : @losses.count
    end

    # The last error of the block or the disk, or the reason why nothing is recorded.
    #
    # @return [Exception, nil]
    def error = @losses.error

    # @api private
    def start = @periods.start

    # Whether it runs in this process.
    def running? = @periods.running?

    # Ends the session and delivers the last profile. It does nothing if the session is over.
    #
    # @return [Boolean] whether all profiles are delivered, or lost by an error; false if that took longer than {PATIENCE}
    def stop = @periods.stop(Clock.now + PATIENCE)

    # Ends the period now, and delivers its profile.
    #
    # @return [Boolean] whether it was delivered, or lost by an error, within {PATIENCE}
    def flush = @periods.flush

    def inspect
      "#<Profiler::Continuous #{running? ? "running" : "over"}>"
    end

    # @api private
    def take(profile)
      own_thread? ? @sink.call(profile) : @sink.write(profile)
      @delivered += 1
    end

    # @api private
    def period_ended = nil

    # @api private
    def own_thread? = !@sink.is_a?(Directory)

    # @api private
    def process_ends(_error, till) = @periods.finish(till)

    # @api private
    def end_period(till) = @periods.finish(till, stop: false)

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
