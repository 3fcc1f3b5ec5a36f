# frozen_string_literal: true

require_relative "continuous/clock"
require_relative "continuous/ends"
require_relative "continuous/object_windows"
require_relative "continuous/running"
require_relative "recording"
require_relative "recording/directory"

module Profiler
  # A session for the life of the process, in one profile for each period. {Profiler.continuous} starts it.
  #
  # A thread of its own ends each period and delivers the profile. A forked child continues by itself, with a thread of its own.
  class Continuous
    # Options of the session, where they are not given.
    MODES = %i[cpu wall].freeze
    FREQUENCY = 100
    MAX_OVERHEAD = 0.01

    # Periods that are allowed, seconds.
    PERIODS = (0.1..86_400).freeze

    # Seconds that {stop} and {flush} wait for a profile to be delivered.
    PATIENCE = 5

    class << self
      # The one that runs in this process.
      #
      # @return [Continuous, nil]
      def current
        Running.find(:continuous)
      end

      # @param kind [Symbol] a key of {Running::KINDS}
      # @api private
      # @see Profiler.continuous
      def start(sink, period, options, kind: :continuous)
        check(period)
        mine = nil
        Running.claim(kind) { mine = new(sink, period, kind) }
        Ends.watch
        mine.start(defaults(options).merge(options.compact))
      ensure
        mine&.started
      end

      # The taker of the profiles: the block, or a directory.
      #
      # @return [#call]
      # @raise [ArgumentError, SystemCallError] for a directory that cannot be used, or with both or none of them
      # @api private
      def sink(out, format, keep, block)
        raise ArgumentError, "no block given, and no out:" unless out || block
        raise ArgumentError, "out: and a block are given (allowed: one of them)" if out && block
        return block if block

        directory = Recording::Directory.new(out, format: format, keep: keep)
        directory.prepare
        lambda do |profile|
          directory.store(Recording::Result.new(id: directory.new_id, profile: profile))
        end
      end

      private

      def check(period)
        return if period.is_a?(Numeric) && PERIODS.cover?(period)

        raise ArgumentError, "period: #{period.inspect} is not a number of seconds from #{PERIODS.begin} to #{PERIODS.end}"
      end

      def defaults(options)
        modes = Array(options[:mode] || MODES)
        return { mode: MODES } if (modes & MODES).empty? || options[:interval]

        default = { mode: MODES, frequency: FREQUENCY }
        # An explicit nil is none.
        default[:max_overhead] = MAX_OVERHEAD if !modes.include?(:heap) && !options[:frequency] && !options.key?(:max_overhead)
        default
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
    def initialize(sink, period, kind)
      @sink = sink
      @period = period
      @kind = kind
      @starter = Thread.current
      @delivered = @lost = 0
    end

    # @api private
    # @return [self]
    def start(options)
      @windows = ObjectWindows.new(options[:max_overhead]) if ObjectWindows.wanted?(options)
      Session.begin(options, windows: !@windows.nil?) { |session| @session = session } # so that no exception can come in between
      begin_thread
      self
    ensure
      @session&.discard unless @thread
    end

    # Notes that it runs, or does not run after all.
    #
    # @api private
    def started
      @starter = nil
    end

    # Whether it runs in this process.
    def running?
      @thread&.alive? && @session.running? ? true : false
    end

    # Whether it runs, or is about to.
    #
    # @api private
    def pending? = !@starter.nil? || running?

    # Ends the session and delivers the last profile. It does nothing if the session is over.
    #
    # @return [Boolean] whether all profiles are delivered, or lost by an error; false if that took longer than {PATIENCE}
    def stop
      @stopping = true
      @till ||= Clock.now + PATIENCE # one for all calls, as the end of a process can bring several
      ended = wait_until(@till) { !@thread&.alive? }
      @session.discard if ended && @session&.running? # its thread never began, as in a child without threads to spare
      ended
    end

    # Ends the period soon, and does not wait for that. A trap may call it.
    #
    # @api private
    def flush_soon
      @asked += 1
      wake
    end

    # Ends the period now, and delivers its profile.
    #
    # @return [Boolean] whether it was delivered, or lost by an error, within {PATIENCE}
    def flush
      asked = (@asked += 1)
      wait_until(Clock.now + PATIENCE) { @answered >= asked || !@thread&.alive? }
    end

    # @param same [Boolean] whether the child is this process, which became a daemon
    # @api private
    def continue_in_child(same: false)
      @sink.begin_child if !same && @sink.respond_to?(:begin_child)
      @starter = nil unless @starter.equal?(Thread.current)
      return unless @session&.running?
      # The child of a block that forks is no worker.
      return @session.discard if @stopping || @thread.equal?(Thread.current)

      @windows&.start_over
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
      @waiting = @delivering = false
      @asked = @answered = 0
      @till = nil
      # The thread inherits the mask, so that it begins even if it is killed at once, and lifts it in {work}.
      Thread.handle_interrupt(Object => :never) { @thread = BackgroundThread.new("profiler #{@kind}") { work } }
    end

    # Waits until the thread has done it. In the block itself it never will.
    def wait_until(till)
      return false if @thread.equal?(Thread.current)

      until yield
        return false if Clock.now > till

        wake
        Clock.nap(0.01)
      end
      true
    end

    # Wakes the thread, again and again, as one call could come just before it falls asleep.
    def wake
      @thread.wakeup if @waiting
    rescue ThreadError
      nil # it ended just now
    end

    # Profiles are delivered on this thread alone. So an exception from outside, as of Timeout, is never taken for an error of
    # the block.
    def work
      Thread.handle_interrupt(Object => :immediate) do
        until @stopping
          wait
          next if @stopping

          turn
          turned
        end
      end
    ensure
      finish # also where the app kills all threads
      turned
    end

    # Lets the sink do what it has to do beside taking profiles.
    def turned
      @sink.turned if @sink.respond_to?(:turned)
    end

    # Waits for the end of the period. Periods end at multiples of their length, so those of all processes agree.
    def wait
      due = ((Clock.time + @period / 2.0) / @period).ceil * @period
      @waiting = true
      until @stopping || @asked > @answered
        left = due - Clock.time
        break unless left.between?(0, @period * 1.5) # or the clock was set back

        Clock.nap(@sink.respond_to?(:turned) ? [left, 1].min : left) # a trap may have come just before, and woken nobody
      end
    ensure
      @waiting = false
    end

    # A profile without a sample is not received, so the next one has its contents too.
    def turn
      asked = @asked
      @session.rotate(gently: asked == @answered) do |profile|
        break if profile.stats[:samples].zero?

        deliver(profile)
      end
      @session.sample_objects(@sampling = @windows.next?(@sampling)) if @windows
    rescue NotRunning
      @stopping = true
    rescue *OWN_TROUBLE => e
      count_lost(e)
    ensure
      @answered = asked
    end

    # A child that has just been forked has no sample, and is not worth a file. A block that this thread ended in is not called
    # again: it may hang for ever.
    def finish
      if @delivering
        count_lost(Error.new("its thread was ended in the block"))
        return @session.discard
      end
      profile = @session.stop
      deliver(profile) unless profile.stats[:samples].zero?
    rescue *OWN_TROUBLE => e
      count_lost(e) unless e.is_a?(NotRunning)
    end

    def deliver(profile)
      @delivering = true
      Thread.handle_interrupt(Object => :immediate) { @sink.call(profile) } # it can be killed also at the end
      @delivering = false
      @delivered += 1
    rescue Exception => e # rubocop:disable Lint/RescueException -- the app must not notice; a kill is none, and goes on
      @delivering = false
      count_lost(e)
    end

    # Errors repeat each period as a rule, so only the first is printed: to the real stderr, even with -W0.
    def count_lost(error)
      @lost += 1
      @error = error
      STDERR.puts("[profiler] a profile was lost: #{error.message.lines.first.to_s.chomp}") if @lost == 1
    rescue StandardError
      nil # stderr is closed, or an app's own error raises here again
    end
  end
end
