# frozen_string_literal: true

require_relative "../sinks"
require_relative "always"
require_relative "memory_rows"
require_relative "periods"

module Profiler
  # A session for the life of the process, with one profile per period. {Profiler.continuous} starts it.
  #
  # Its own thread ends each period and delivers the profile. A forked child continues by itself, with its own thread.
  class Continuous < Always
    NAME = "a continuous session"

    # The allowed length of a period, in seconds.
    PERIODS = (0.1..86_400).freeze

    # The default length of a period in seconds, for files and for backends.
    PERIOD = 60
    WINDOW = 10

    # The time in seconds that {stop} and {flush} wait for a profile to be delivered.
    PATIENCE = Ends::PATIENCE

    class << self
      # Returns the continuous session that runs in this process.
      #
      # @return [Continuous, nil]
      def current = Always.find(self)

      # @param sinks [Array<Sinks::Plain, Sinks::Engine>]
      # @api private
      # @see Profiler.continuous
      def start(sinks, period, options, memory = nil)
        memory = false.equal?(memory) || memory.nil? ? nil : MemoryRows.new("memory", memory)
        period = sinks.any?(Sinks::Engine) ? WINDOW : PERIOD if period.equal?(nil)
        period = AnyObject.number("period", period, "a number of seconds from #{PERIODS.begin} to #{PERIODS.end}") { |seconds| PERIODS.cover?(seconds) }

        options = { spans: true }.merge(options) if sinks.any?(Sinks::Engine)
        Always.claim(self) { new(sinks, period, memory, Periods.with_defaults(options)) }
      end
    end

    # The destinations of the profiles.
    #
    # @return [Array<Sinks::Plain, Sinks::Engine>]
    # @api private
    attr_reader :sinks

    # The rows of memory.
    #
    # @return [MemoryRows, nil]
    # @api private
    attr_reader :memory

    # @api private
    def initialize(sinks, period, memory, options)
      @sinks = sinks
      @memory = memory
      @spans = options[:spans]
      begin_account
      @periods = Periods.new(self, "continuous", period, options)
    end

    # Returns the number of profiles that were delivered in this process, counted once for each sink.
    #
    # @return [Integer]
    def delivered = @sinks.sum(&:delivered)

    # Returns the number of profiles that were lost in this process, because the block, the disk or the backend failed, or
    # another owner took SIGPROF.
    #
    # @return [Integer]
    def lost = @losses.count + @sinks.sum(&:lost)

    # Returns the last error of a sink, or the reason why no profile is recorded.
    #
    # @return [Exception, nil]
    def error = [@losses.error, *@sinks.map(&:error)].compact.last

    # Ends the session and delivers the last profile. A no-op if the session is over.
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

    # Returns whether the session tracks live objects.
    #
    # @api private
    def tracks_live_objects? = @periods.tracks_live_objects?

    # Returns a profile with the objects that are live now.
    #
    # @return [Profile, nil] nil if the session is over
    # @api private
    def live_objects = @periods.snapshot

    # @api private
    def take(profile)
      Spans.follow if @spans # the app may have loaded them since
      profile = with_memory(profile) if @memory
      @sinks.each do |sink|
        sink.take(profile)
      rescue Exception => e # rubocop:disable Lint/RescueException -- the other sinks get it all the same; a kill is not rescued
        sink.lose(e)
      end
    end

    # Takes a row of memory also if the period has no profile.
    #
    # @api private
    def period_ended = @memory&.take

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
      @memory&.start_over unless same
      @sinks.each { |it| it.forked(same) }
      @periods = @periods.in_child
    end

    private

    # Adds the rows since the last profile. At the end of the process none is taken, as it would take longer.
    def with_memory(profile)
      @memory.take if BackgroundThread === Thread.current
      rows = @memory.hand_over
      return profile if rows.empty?

      @sinks.each do |it|
        it.take_memory(rows)
      rescue *RESCUED_ERRORS => e
        it.lose(e)
      end
      Native.with_memory(profile, rows, [])
    end

    # Flushes all sinks at the same time, so a backend that does not respond takes no time from the others.
    def send_all(till, last: false)
      @sinks.each { |it| it.flush(last) }
      @sinks.map { |it| it.wait(till) }.all?
    end

    def begin_account
      @losses = Losses.new("a profile was lost")
    end
  end
end
