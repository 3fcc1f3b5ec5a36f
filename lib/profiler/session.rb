# frozen_string_literal: true

module Profiler
  # One start to one stop. Many can run at once; none sees the others. Reopened here: the rest is native.
  #
  # A forked child goes on with the sessions of its parent as its own: they forget what they saw, which
  # is the parent's, and look at the thread that forked.
  class Session
    # Sessions that {Profiler.start} began and that are not over yet, oldest first, with the thread that called it: {Profiler.stop}
    # finds them here. All others belong to whoever has the object, and end when it is garbage.
    @running = {}.compare_by_identity

    class << self
      # Starts a session. {Profiler.start} does this and remembers it for {Profiler.stop}.
      #
      # @return [Session]
      # @raise [ArgumentError, Unsupported]
      def start(**options)
        self.begin(options)
      end

      # @param options [Hash, Prepared] or what {prepared} made of them
      # @param starter [Thread, nil] who may end it by {Profiler.stop}
      # @param bound [Boolean] it ends with a block on this thread
      # @param scope [Integer, nil] only what happens inside this one, of those that +Labels.new_scope+ gives
      # @api private
      def begin(options, starter: nil, bound: false, scope: nil)
        Platform.demand_main_ractor
        Interop.watch
        options = ready(options) unless options.instance_of?(Prepared)
        # It is made before it begins: whatever arrives from outside meanwhile, somebody has it and ends it.
        session = _new
        begin
          session.send(:_start, options, bound, scope)
          hold(session, starter) if starter
          yield session if block_given?
          owned = true
          session
        ensure
          session.discard unless owned
        end
      end

      # Options of {start} once and for all, for sessions that are begun often.
      #
      # @return [Prepared]
      # @raise [ArgumentError] for some that are not allowed; {check} finds all
      # @api private
      def prepared(options)
        _prepared(ready(options).freeze)
      end

      # Checks options as {start} would, and starts nothing.
      #
      # @return [nil]
      # @raise [ArgumentError] for a value that is not allowed
      def check(**options)
        _check(known(**options))
      end

      # The newest that {Profiler.start} began: on this thread, or if there is none on any.
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

      # Profiles that nobody fetched are kept until the next start, by the same thread or after the end of theirs.
      def hold(session, starter)
        @running.delete_if { |it, by| it.unclaimed? && (by == starter || !by.alive?) }
        @running[session] = starter
      end

      # Options as the extension takes them, for which all is ready.
      def ready(options)
        mode, _interval, _frequency, threads = given = known(**options)
        Interop.watch_objects unless mode == :cpu || (Array(mode) - %i[cpu wall]).empty?
        begun(threads) unless threads.is_a?(Symbol)
        given
      end

      # A thread that was just made is known to the system only once it has run. That takes as long as its turn.
      def begun(threads)
        till = nil
        Array(threads).grep(Thread).each do |thread|
          until thread.native_thread_id || !thread.alive?
            now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            break if now > (till ||= now + 2)

            sleep(0.0001)
          end
        end
      end

      def roots(trim_path)
        return [Dir.pwd] if trim_path == true

        roots = Array(trim_path)
        return roots.map { |root| File.expand_path(root) } if roots.all?(String)

        raise ArgumentError, "trim_path: #{trim_path.inspect} is not true, a directory or an Array of directories"
      end

      def known(mode: :cpu, interval: nil, frequency: nil, threads: :all, labels: nil, static_labels: nil, depth: nil,
                engine: nil, metadata: nil, trim_path: nil, gc: nil, ignore_gc: false, timeline: nil, raw: nil, every: nil,
                every_bytes: nil, fibers: nil)
        # In the order of the extension's config::Given: a Hash would cost more than the rest of a start.
        [mode, interval, frequency, threads, labels, static_labels, depth, engine, metadata,
         trim_path ? roots(trim_path) : nil, ignore_gc ? :ignore : gc,
         timeline.nil? && raw.nil? ? nil : flag(timeline: timeline, raw: raw), fibers.nil? ? nil : flag(fibers: fibers), every, every_bytes]
      end

      # Two names of one thing.
      def flag(**named)
        given = named.compact
        raise ArgumentError, "#{given.keys.map { |name| "#{name}:" }.join(" and ")} say the same thing: give one of them" if given.size > 1

        name, value = given.first
        return value if [true, false].include?(value)

        raise ArgumentError, "#{name}: #{value.inspect} is not a choice (allowed: true, false)"
      end
    end

    # What was seen so far. The session runs on. With +:heap+ all garbage is collected first, as it is by {#stop}.
    #
    # @return [Profile]
    # @raise [NotRunning] if it is over
    def snapshot
      _snapshot
    end

    # Looks away until {#resume}: what happens meanwhile is not counted, and costs nothing if no other
    # session looks. Does nothing when it is paused already.
    #
    # @return [self]
    # @raise [NotRunning] if it is over
    def pause
      _pause
      self
    end

    # Looks again. Does nothing when it is not paused.
    #
    # @return [self]
    # @raise [NotRunning] if it is over
    # @raise [Unsupported] if the app has taken SIGPROF meanwhile
    def resume
      _resume
      self
    end

    # Ends the session.
    #
    # An exception that arrives meanwhile, as +Timeout+ and +Thread#raise+ send it, is raised when the session has ended. The
    # profile is kept then, and the next call gives it: see {#unclaimed?}. {Profiler.start} on the same thread forgets it.
    #
    # @return [Profile]
    # @raise [NotRunning] if it is over already
    def stop
      raise NotRunning, "this session has been stopped already" if @over

      profile = _stop
    ensure
      Session.over(self) if profile || !(running? || unclaimed?)
      @over = true if profile # last, as nothing can arrive between this and the return
    end

    # Whether it has ended, and its profile has reached nobody: an exception arrived on the way.
    def unclaimed?
      _stopped? && !@over
    end

    # Ends the session and throws away what it saw. Does nothing when it is over.
    #
    # @return [nil]
    def discard
      _discard
      nil
    ensure
      Session.over(self)
    end

    # With a scope: looks at this thread too, for what of the scope goes on here.
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
