# frozen_string_literal: true

module Profiler
  # A measurement, from one start to one stop. Sessions run concurrently and independently. Most of the class is native, and is reopened
  # here.
  #
  # A forked child continues the sessions of its parent as its own. They forget the parent's samples, and profile the thread
  # that forked.
  #
  # A file that is written in the child has the pid in its name, see {FileName}.
  class Session
    # The running sessions of {Profiler.start}, oldest first, with the thread that called it; {Profiler.stop} finds them here. Any other
    # session belongs to the owner of the object, and ends when it is garbage collected.
    @running = {}.compare_by_identity

    BACKTRACE = Thread.instance_method(:backtrace)
    # Modes that count no objects.
    TIMES = %i[cpu wall].freeze
    private_constant :BACKTRACE, :TIMES

    class << self
      # Starts a session. {Profiler.start} does this and remembers it for {Profiler.stop}.
      #
      # @return [Session]
      # @raise [ArgumentError, Unsupported]
      def start(**options)
        self.begin(options)
      end

      # @param options [Hash] options of {start}
      # @param starter [Thread, nil] the thread whose {Profiler.stop} ends it
      # @param bounds [Hash] these:
      # @option bounds [Boolean] :bound it ends with a block on this thread
      # @option bounds [Integer, nil] :scope profile only inside this scope of +Labels.new_scope+
      # @option bounds [Boolean] :slices only its slices have samples, see {#slice}
      # @option bounds [Boolean] :windows it samples objects only after {#sample_objects}
      # @option bounds [Boolean] :settled it begins as after {#settle}
      # @api private
      def begin(options, starter: nil, **bounds)
        Platform.require_main_ractor
        SelfCheck.demand if SelfCheck::NEEDED
        Interop.watch
        Spans.follow if options[:spans]
        InLibraries.install(tests: !bounds[:bound]) unless bounds[:scope]
        prepare(options)
        # The session is created before it starts, so that it has an owner who ends it, whatever arrives from outside.
        session = _new
        begin
          Native.start(session, options, bounds)
          hold(session, starter) if starter
          yield session if block_given?
          owned = true
          session
        ensure
          session.discard unless owned
        end
      end

      # Checks options as {start} would, without starting anything.
      #
      # @return [nil]
      # @raise [ArgumentError] for a value that is not allowed
      def check(**options)
        _check(options)
      end

      # @!method covering?
      #   Returns whether a session runs that is not of a single request, so labels of requests are useful.
      #
      #   @api private

      # Returns the newest session of {Profiler.start}: of this thread, or else of any thread.
      #
      # @return [Session, nil]
      # @api private
      def newest
        newest_first = @running.to_a.reverse
        session, = newest_first.find { |_session, starter| starter == Thread.current } || newest_first.first
        session
      end

      # @api private
      def over(session)
        @running.delete(session)
      end

      private

      # Keeps unclaimed profiles until the next start on the same thread, or after the end of their thread.
      def hold(session, starter)
        # Iterates over a copy, because other threads start sessions meanwhile.
        @running.to_a.each { |it, by| @running.delete(it) if it.unclaimed? && (by == starter || !by.alive?) }
        @running[session] = starter
      end

      # Prepares what the options need.
      def prepare(options)
        mode = options[:mode]
        Interop.watch_objects unless AnyObject.list(mode).all? { |it| TIMES.include?(it) }
        threads = options[:threads]
        wait_until_started(threads) if Thread === threads || Array === threads
      end

      # Waits until the threads have run once. Only then does a new thread have an id and a stack.
      def wait_until_started(threads)
        till = nil
        Array(threads).grep(Thread).each do |thread|
          until (thread.native_thread_id && BACKTRACE.bind_call(thread, 0, 1)&.any?) || !thread.alive?
            now = Clock.now
            break if now > (till ||= now + 2)

            Clock.sleep(0.0001)
          end
        end
      end
    end

    # Returns a profile of the session so far; the session keeps running. With +:heap+ it collects all garbage first, as {#stop}
    # does.
    #
    # @return [Profile]
    # @raise [NotRunning] if it is over
    def snapshot
      _snapshot
    end

    # Returns a profile of what was recorded since the start, or since the last call; the session keeps running. The next
    # profile begins at the same clocks, so no time is lost between two profiles or in both. With +:heap+ it collects all
    # garbage first; each profile has the objects that were live at its end.
    #
    # An exception from outside (+Timeout+, +Thread#raise+) can keep the profile from its caller. With a block, the profile counts
    # as received when the block returns; if it does not, the next profile has its contents too.
    #
    # Other threads can rotate the session at the same time: each profile has a part of the time, and no two have the same.
    #
    # With +gently+, other threads get a turn after each half millisecond of naming functions, and run while the profile is
    # built. This takes longer: up to some seconds if other threads compute.
    #
    # @param gently [Boolean] whether others run in between
    # @yieldparam profile [Profile]
    # @return [Profile, Object] the profile, or what the block returns
    # @raise [NotRunning] if it is over
    def rotate(gently: false, &block)
      _rotate(gently ? true : false, &block)
    end

    # Starts a session of a single scope, which uses the ticks and the options of this one. It starts and stops no timers or
    # hooks of its own, so it is cheap enough for each request.
    #
    # @!method slice(scope)
    #   @param scope [Integer] of +Labels.new_scope+, not entered yet
    #   @return [Session, nil] nil if this session is over, or records no more
    #   @api private

    # Opens or closes a window in which objects are sampled, in a session that has windows.
    #
    # @param open [Boolean]
    # @api private
    def sample_objects(open) = _sample_objects(open)

    # Ends the parent session if none of its slices is open.
    #
    # @return [Boolean] whether it is over
    # @api private
    def end_unless_sliced = _end_unless_sliced

    # @!method settle
    #   Leaves out what follows, as the profiler's own work, until {#unsettle} or {#stop}. A no-op while paused.
    #
    #   @api private

    # @!method unsettle
    #   Continues after {#settle}.
    #
    #   @api private

    # Stops observing until {#resume}. The time until then is not counted, and there is no overhead if no other session runs. A
    # no-op if the session is already paused.
    #
    # @return [self]
    # @raise [NotRunning] if it is over
    def pause
      _pause
      self
    end

    # Continues after {#pause}. A no-op if the session is not paused.
    #
    # @return [self]
    # @raise [NotRunning] if it is over
    # @raise [Unsupported] if the app has trapped SIGPROF since
    def resume
      _resume
      self
    end

    # Ends the session. Called again, it returns the same profile.
    #
    # An exception from outside (+Timeout+, +Thread#raise+) is raised after the session has ended. The next call returns the
    # profile then: see {#unclaimed?}. {Profiler.start} on the same thread discards it.
    #
    # @return [Profile] since the start, or since the last {#rotate}
    # @raise [NotRunning] if it was discarded
    def stop
      profile = _stop
    ensure
      Session.over(self) if profile || !(running? || unclaimed?)
      @over = true if profile
    end

    # Returns whether it has ended without returning its profile, as an exception arrived on the way.
    def unclaimed?
      _stopped? && !@over
    end

    # Ends the session and discards its samples. A no-op if the session is over.
    #
    # @return [nil]
    def discard
      drop
    ensure
      Session.over(self)
    end

    # @!method drop
    #   Does the same as {discard}, for a session that is not of {Profiler.start}.
    #
    #   @return [nil]
    #   @api private

    # Profiles this thread too, for the session's scope.
    #
    # @api private
    def join
      _join
    end

    def inspect
      "#<Profiler::Session #{!running? ? "over" : paused? ? "paused" : "running"}>"
    end
  end
end
