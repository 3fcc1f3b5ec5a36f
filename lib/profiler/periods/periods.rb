# frozen_string_literal: true

require_relative "../process/ends"

module Profiler
  # A session for the life of the process. A thread ends its periods, and passes the profile of each to a client.
  #
  # A client has these methods:
  #
  # * +take(profile)+ gets each profile with a sample
  # * +period_ended+ comes after each period
  # * +lose(error)+ counts a profile that could not be taken
  # * +own_thread?+ returns whether it can only be called on the thread, because it may take for ever
  # * +current?+ returns whether no other session has taken its place
  # * +begin_session(options, windows)+ passes a new session to the block
  #
  # The thread that ends the process also ends the session, because it has the GVL: another thread may not get its turn in time.
  #
  # The life of a period:
  #
  # 1. {Always} starts at most one session of each kind, and notifies them when the process forks, execs, daemonizes or exits.
  # 2. The thread waits for a multiple of the length, or for a command: to end the period, or everything.
  # 3. It rotates the session. The client takes the profile: {Continuous} passes it to each sink, {Flight} keeps the
  #    bytes.
  # 4. A profile that cannot be taken is counted and reported by {Losses}. After a stray exception the thread continues. If
  #    the app kills it, the session ends with its samples so far, and starts again after the next garbage collection.
  # 5. If SIGPROF has another owner, the session ends with its samples so far. Each second the thread tries to start another.
  # 6. A forked child builds a Periods of its own around the session that it inherits.
  # 7. The thread that ends the process stops the session and stores the last profile itself. It keeps the GVL for 200
  #    ms while a native thread writes, and leaves after 5 s. Only an app's block is left to the thread of the periods:
  #    it never runs on a thread of the app.
  # 8. Before +exec+ and a daemon it ends the period in the same way, and the session continues if no other program replaces
  #    the process.
  class Periods
    # Default options of the session.
    MODES = Platform::TIME_MODES
    FREQUENCY = 100
    MAX_OVERHEAD = 0.01

    # The pause in seconds between two attempts to start while another owner has SIGPROF, and between checks of clock and
    # commands.
    PAUSE = 1
    private_constant :PAUSE

    # The number of kills by the name of the session. A program may kill all of its threads again and again.
    KILLS = Hash.new(0)
    private_constant :KILLS

    # A request to the thread to end the period.
    Command = Struct.new(:done)
    private_constant :Command

    # @param options [Hash] as for {Profiler.start}
    def self.with_defaults(options)
      modes = AnyObject.list(options[:mode] || MODES)
      own = { mode: MODES }
      if modes.any? { |it| %i[cpu wall].include?(it) } && !options[:interval]
        own[:frequency] = FREQUENCY
        # An explicit nil is none.
        own[:max_overhead] = MAX_OVERHEAD if (modes & %i[heap native]).empty? && !options[:frequency] && !options.key?(:max_overhead)
      end
      own.merge(options.compact)
    end

    # @param name [String] of the thread
    # @param length [Numeric] seconds
    # @param options [Hash] of the session
    def initialize(client, name, length, options)
      @client = client
      @name = name
      @length = length
      @given = options
      # A session that is started again starts on a thread of the profiler, so +:current+ is resolved now.
      @options = :current == options[:threads] ? options.merge(threads: Thread.current) : options
      @commands = Thread::Queue.new # a trap may push
      @windows = ObjectWindows.new(options[:max_overhead]) if ObjectWindows.wanted?(options)
    end

    # @param session [Session, nil] the parent's, in a forked child
    def start(session = nil)
      session ? @session = session : begin_session
      begin_thread
      self
    ensure
      @session&.discard unless @thread
    end

    def running? = @thread&.alive? && !@stopping ? true : false

    # Requests the end of the period, without waiting for it. A trap may call it.
    def flush_soon = push(Command.new)

    # Ends the period now and waits for it.
    #
    # @return [Boolean] whether that was done until then
    def flush(till = Clock.now + Ends::PATIENCE)
      command = push(Command.new)
      wait_until(till) { command.done || !@thread&.alive? }
    end

    # Ends the session and waits for it. The last profile is taken on the thread of the periods.
    #
    # @return [Boolean] whether that was done until then
    def stop(till = Clock.now + Ends::PATIENCE)
      @stop_requested = true
      push(Command.new)
      ended = wait_until(till) { !@thread&.alive? }
      @session.discard if ended && @session&.running? # its thread never began, as in a child without threads to spare
      ended
    end

    # Ends the session on this thread, which ends the process. If the process may continue, ends only the period.
    def finish(till, stop: true)
      @ending ||= stop
      return unless @session&.running?

      return stop ? self.stop(till) : flush(till) if @client.own_thread?

      wait_until(till) { !@busy } # what is half done there could not be done here
      @stopping ||= stop
      stop ? take(@session.stop) : @session.rotate { |profile| take(profile) }
    rescue *RESCUED_ERRORS => e
      lose(e)
    end

    # Returns whether the session tracks live objects.
    def tracks_live_objects? = (Array(@options[:mode]) & %i[heap retained]).any?

    # Returns a profile of the time since the last period.
    #
    # @return [Profile, nil] nil if it is over
    def snapshot
      @session.snapshot if @session&.running?
    rescue NotRunning
      nil
    end

    # Ends the session without its last profile, after the thread has finished its current task.
    def discard(till)
      @ending = true
      wait_until(till) { !@busy }
      @stopping = true
      @session&.discard
    end

    # Returns the periods that continue in a forked child.
    def in_child
      return self unless @session&.running?

      # The child of a block that forks is not a worker.
      over = @stop_requested || @stopping || @thread.equal?(Thread.current)
      return Periods.new(@client, @name, @length, @given).start(@session) unless over

      @session.discard
      self
    rescue ThreadError
      self # the app has all threads that it may have
    end

    private

    # Starts the thread, which inherits the mask so that it runs even if it is killed at once, and lifts it in {work}.
    def begin_thread
      Thread.handle_interrupt(Object => :never) do
        @thread = BackgroundThread.new("profiler #{@name}", revival: method(:revive)) { work }
      end
    end

    # Starts again if the app killed the thread, and nobody has started or ended the session since then.
    def revive
      return if !@killed || @ending || @stop_requested || !@client.current?

      @killed = @stopping = false
      start
    end

    def begin_session
      @client.begin_session(@options, !@windows.nil?) { |session| @session = session } # so that no exception can come in between
    end

    def push(command)
      @commands << command
      wake
      command
    end

    # Waits until the thread has done it. In the block itself it never will.
    def wait_until(till)
      return false if @thread.equal?(Thread.current)

      until yield
        return false if Clock.now > till

        wake
        Clock.sleep(0.01)
      end
      true
    end

    # Wakes the thread repeatedly, because a single call could arrive just before it falls asleep.
    def wake
      @thread.wakeup if @waiting
    rescue ThreadError
      nil # it ended just now
    end

    # Serves until the session ends. A stray exception ends the current task, and the next period includes this one. It can
    # arrive just as the inner mask begins and skip that, so the outer mask protects the rescue.
    def work
      begin
        Thread.handle_interrupt(Object => :never) { Thread.handle_interrupt(Object => :immediate) { serve until @stopping } }
      rescue Exception # rubocop:disable Lint/RescueException -- a kill is not rescued
        retry unless @stopping
      end
    ensure
      ended_early if (@taking || @session.running?) && !@ending # else the thread that ends the process stops it
    end

    # Waits for a command or the end of the period, and carries it out. Profiles are taken only on this thread, except at the end
    # of the process.
    def serve
      commands = wait
      @busy = true
      @stopping ||= @stop_requested
      end_period(commands.empty?)
      @client.period_ended
      commands.each { |it| it.done = true }
    ensure
      @busy = false
    end

    # Waits for the end of the period. Periods end at multiples of their length, so those of all processes coincide.
    def wait
      due = ((Clock.time + @length / 2.0) / @length).ceil * @length
      @waiting = true
      while @commands.empty? && !@stop_requested && !@stopping
        left = due - Clock.time
        break unless left.between?(0, @length * 1.5) # or the clock was set back

        Clock.sleep([left, PAUSE].min) # a command may have come just before this sleep
        break unless recording?
      end
      Array.new(@commands.size) { @commands.pop }
    ensure
      @waiting = false
    end

    def recording? = @session.running? && !@session.paused?

    # Ends the period. A profile without a sample or request is not delivered, so the next one has its contents too.
    def end_period(gently)
      return begin_anew unless recording?
      return take(@session.stop) if @stopping

      @session.rotate(gently: gently) { |profile| take(profile) or break }
      @session.sample_objects(@sampling = @windows.next?(@sampling)) if @windows
    rescue *RESCUED_ERRORS => e
      lose(e) unless e.is_a?(NotRunning) # the thread that ends the process was faster
    end

    # Starts a new session once SIGPROF is free. Another owner of SIGPROF ends a session for good, so its samples are taken
    # first.
    def begin_anew
      if @session.running?
        take(@session.stop)
        lose(Error.new("SIGPROF has another owner: nothing is recorded until it is free"))
      end
      begin_session unless @stopping
    rescue Unsupported
      nil # the next try is after the next pause
    end

    # Delivers a profile that has a sample or a request. A child that was just forked has neither, and is not worth a file.
    #
    # @return [Boolean] whether it had any
    def take(profile)
      return false if profile.stats.values_at(:samples, :requests).sum.zero?

      @taking = Thread.current.equal?(@thread)
      Thread.handle_interrupt(Object => :immediate) { @client.take(profile) } # it can be killed also at the end
      @taking = false
      true
    rescue Exception => e # rubocop:disable Lint/RescueException -- the app must not notice; a kill is not rescued
      @taking = false
      lose(e)
      true
    end

    # Takes the last profile after the thread was killed. A client in which it was killed is not called again, as it may hang
    # for ever.
    def ended_early
      @stopping = true
      if @taking
        lose(Error.new("its thread was ended in the block"))
        return @session.discard
      end
      @killed = true
      kills = KILLS[@name] += 1
      Losses.warn("#{@name}: recording stops until the next garbage collection, because its thread was killed") if kills <= Losses::LINES
      take(@session.stop)
    rescue *RESCUED_ERRORS => e
      lose(e)
    end

    def lose(error) = @client.lose(error)
  end
  private_constant :Periods
end

require_relative "object_windows" # which reopens the class
