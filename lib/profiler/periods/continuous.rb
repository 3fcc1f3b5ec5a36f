# frozen_string_literal: true

require_relative "../sinks"
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

    # Seconds of a period where none is given: for files, and for engines.
    PERIOD = 60
    WINDOW = 10

    # Seconds that {stop} and {flush} wait for a profile to be delivered.
    PATIENCE = Ends::PATIENCE

    class << self
      # The one that runs in this process.
      #
      # @return [Continuous, nil]
      def current = Always.find(self)

      # @param sinks [Array<Sinks::Plain, Sinks::Engine>]
      # @api private
      # @see Profiler.continuous
      def start(sinks, period, options)
        period ||= sinks.any?(Sinks::Engine) ? WINDOW : PERIOD
        unless period.is_a?(Numeric) && PERIODS.cover?(period)
          raise ArgumentError, "period: #{period.inspect} is not a number of seconds from #{PERIODS.begin} to #{PERIODS.end}"
        end

        options = { spans: true }.merge(options) if sinks.any?(Sinks::Engine)
        Always.claim(self) { new(sinks, period, Periods.with_defaults(options)) }
      end
    end

    # Where the profiles go.
    #
    # @return [Array<Sinks::Plain, Sinks::Engine>]
    # @api private
    attr_reader :sinks

    # @api private
    def initialize(sinks, period, options)
      @sinks = sinks
      @spans = options[:spans]
      begin_account
      @periods = Periods.new(self, "continuous", period, options)
    end

    # The number of profiles that were delivered in this process, to each place one.
    #
    # @return [Integer]
    def delivered = @sinks.sum(&:delivered)

    # The number of profiles that were lost in this process, as the block, the disk or the engine failed, or another owner took
    # SIGPROF.
    #
    # @return [Integer]
    def lost = @losses.count + @sinks.sum(&:lost)

    # The last error of a place, or the reason why nothing is recorded.
    #
    # @return [Exception, nil]
    def error = [@losses.error, *@sinks.map(&:error)].compact.last

    # Ends the session and delivers the last profile. It does nothing if the session is over.
    #
    # @return [Boolean] whether all profiles are delivered, or lost by an error; false if that took longer than {PATIENCE}
    def stop
      till = Clock.now + PATIENCE
      ended = @periods.stop(till)
      send_all(till, last: true) && ended
    end

    # Ends the period now, and delivers its profile.
    #
    # @return [Boolean] whether it was delivered, or lost by an error, within {PATIENCE}
    def flush
      till = Clock.now + PATIENCE
      @periods.flush(till) && send_all(till)
    end

    # Whether its session tracks live objects.
    #
    # @api private
    def tracks_live_objects? = @periods.tracks_live_objects?

    # A profile with the live objects of now.
    #
    # @return [Profile, nil] nil if the session is over
    # @api private
    def live_objects = @periods.snapshot

    # @api private
    def take(profile)
      Traces.follow if @spans # the app may have loaded them since
      @sinks.each do |it|
        it.take(profile)
      rescue Exception => e # rubocop:disable Lint/RescueException -- the others get it all the same; a kill is none, and goes on
        it.lose(e)
      end
    end

    # @api private
    def own_thread? = @sinks.any?(&:own_thread?)

    # @api private
    def process_ends(_error, till)
      @periods.finish(till)
      send_all(till, last: true)
    end

    # @api private
    def end_period(till)
      super
      send_all(till, last: true)
    end

    # @api private
    def forked(same)
      begin_account
      @sinks.each { |it| it.forked(same) }
      @periods = @periods.in_child
    end

    private

    # All engines are in a hurry at once: one that does not answer takes no time from the others.
    def send_all(till, last: false)
      @sinks.each { |it| it.hurry(last) }
      @sinks.map { |it| it.wait(till) }.all?
    end

    def begin_account
      @losses = Losses.new("a profile was lost")
    end
  end
end
