# frozen_string_literal: true

require_relative "recording"
require_relative "recording/directory"

module Profiler
  # A session for the life of the process, in one profile for each period. {Profiler.continuous} starts it.
  #
  # A thread of its own ends each period and delivers the profile. A forked child continues by itself, with a thread of its own.
  class Continuous
    # Options of the session, where they are not given.
    DEFAULTS = { mode: %i[cpu wall].freeze, frequency: 100 }.freeze

    # Periods that are allowed, seconds.
    PERIODS = (0.1..86_400).freeze

    # Seconds that {stop} waits for the last profile to be delivered.
    PATIENCE = 5

    # Continues in the child of a fork.
    module Fork
      def self.call(original, receiver)
        pid = original.bind_call(receiver)
        Continuous.continue_in_child if pid.equal?(0)
        pid
      end
    end

    # Continues in a daemon, which Ruby forks by another way.
    module Daemon
      def self.call(original, receiver, ...)
        original.bind_call(receiver, ...).tap { Continuous.continue_in_child }
      end
    end

    class << self
      # The one that runs in this process.
      #
      # @return [Continuous, nil]
      def current
        @current if @current&.running?
      end

      # @api private
      # @see Profiler.continuous
      def start(sink, period, options)
        raise AlreadyRunning, "a continuous session is running in this process: stop it first" if current

        unless period.is_a?(Numeric) && PERIODS.cover?(period)
          raise ArgumentError, "period: #{period.inspect} is not a number of seconds from #{PERIODS.begin} to #{PERIODS.end}"
        end

        defaults = options.key?(:interval) ? DEFAULTS.slice(:mode) : DEFAULTS
        watch
        @current = new(sink, period, defaults.merge(options))
      end

      # @api private
      def continue_in_child
        @current&.continue_in_child unless Platform.ractor_reason
      end

      # Stores each profile as a file of its own.
      #
      # @return [#call]
      # @raise [ArgumentError, SystemCallError] for a directory that cannot be used
      # @api private
      def files(out, format, keep)
        directory = Recording::Directory.new(out, format: format, keep: keep)
        directory.prepare
        lambda do |profile|
          directory.store(Recording::Result.new(id: directory.new_id, profile: profile))
        end
      end

      private

      def watch
        Interop.redefine(Process.singleton_class, _fork: Fork, daemon: Daemon)
        @at_exit ||= at_exit { current&.stop } || true
      end
    end

    # The number of profiles that were delivered in this process.
    #
    # @return [Integer]
    attr_reader :delivered

    # The number of profiles that were lost in this process, as the block or the disk failed.
    #
    # @return [Integer]
    attr_reader :lost

    # The last error of the block or the disk.
    #
    # @return [Exception, nil]
    attr_reader :error

    # @api private
    def initialize(sink, period, options)
      @sink = sink
      @period = period
      @session = Session.start(**options)
      begin_thread
    rescue ThreadError
      @session.discard
      raise
    end

    # Whether it runs in this process.
    def running?
      @thread.alive? && @session.running?
    end

    # Ends the session and delivers the last profile. It does nothing if the session is over.
    #
    # @return [Boolean] whether the last profile was delivered within {PATIENCE}, or lost by an error
    def stop
      @stopping = true
      till = now + PATIENCE
      until @thread.join(0.01)
        return false if now > till

        # Again and again, as one could come just before the thread falls asleep.
        @thread.wakeup if @waiting && @thread.alive?
      end
      true
    rescue ThreadError
      true # the thread ended just now
    end

    # @api private
    def continue_in_child
      return unless @session.running?
      # The child of a block that forks is no worker.
      return @session.discard if @stopping || @thread.equal?(Thread.current)

      begin_thread
    rescue ThreadError
      @session.discard # the app has all threads that it may have
    end

    def inspect
      "#<Profiler::Continuous #{running? ? "running" : "over"}>"
    end

    private

    def begin_thread
      @delivered = @lost = 0
      @waiting = false
      @thread = Thread.new { work }
    end

    # Profiles are delivered on this thread alone. So an exception from outside, as of Timeout, is never taken for an error of
    # the block.
    def work
      Thread.current.name = "profiler continuous"
      Thread.current.report_on_exception = false
      until @stopping
        wait
        turn unless @stopping
      end
    ensure
      finish # also where the app kills all threads
    end

    # Waits for the end of the period. Periods end at multiples of their length, so those of all processes agree.
    def wait
      due = ((time + @period / 2.0) / @period).ceil * @period
      @waiting = true
      while !@stopping && (left = due - time).positive?
        sleep([left, @period].min) # the clock may be set back
      end
    ensure
      @waiting = false
    end

    # A profile without a sample is not received, so the next one has its contents too.
    def turn
      @session.rotate do |profile|
        break if profile.stats[:samples].zero?

        deliver(profile)
      end
    rescue NotRunning
      @stopping = true
    rescue *OWN_TROUBLE => e
      count_lost(e)
    end

    # A child that has just been forked has no sample, and is not worth a file.
    def finish
      profile = @session.stop
      deliver(profile) unless profile.stats[:samples].zero?
    rescue *OWN_TROUBLE => e
      count_lost(e) unless e.is_a?(NotRunning)
    end

    def deliver(profile)
      @sink.call(profile)
      @delivered += 1
    rescue StandardError, ScriptError, NoMemoryError => e
      count_lost(e)
    end

    # Errors repeat each period as a rule, so only the first is printed.
    def count_lost(error)
      @lost += 1
      @error = error
      warn("[profiler] a profile was lost: #{error.message.lines.first.to_s.chomp}") if @lost == 1
    rescue StandardError
      nil # $stderr is closed, or an app's own error raises here again
    end

    # The time of day, which all processes share, seconds.
    def time = Process.clock_gettime(Process::CLOCK_REALTIME)

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
