# frozen_string_literal: true

require_relative "../process/ends"

module Profiler
  # A session for the life of the process. Of each kind at most one runs. It is the client of its {Periods}.
  class Always
    # Held while the current session of a kind is replaced.
    LOCK = Mutex.new
    private_constant :LOCK

    # The running sessions by class. The Hash is replaced and never changed, because others read it without the lock.
    @running = {}

    class << self
      # @return [Always, nil] nil if none of that class runs
      # @api private
      def find(kind)
        session = @running[kind]
        session if session&.running?
      end

      # Returns whether the session is the last one of its class that was started.
      #
      # @api private
      def last?(session) = @running.each_value.any? { |it| it.equal?(session) }

      # Starts what the block returns as the running session of its class. The end of the process and a fork find it from then
      # on.
      #
      # @api private
      def claim(kind)
        LOCK.synchronize do
          raise AlreadyRunning, "#{kind::NAME} is running in this process: stop it first" if find(kind)

          Eager.load
          mine = yield
          @running = @running.merge(kind => mine)
          Ends.listen(Always)
          mine.start
          Control.beside
          started = mine
        ensure
          mine&.stop unless started
        end
      end

      # @api private
      def process_ends(error)
        Ends.in_time { |till| @running.each_value { |it| it.process_ends(error, till) } } if @running.any?
      end

      # @api private
      def around_exec
        becomes_daemon
        yield
      end

      # @api private
      def becomes_daemon
        Ends.in_time { |till| @running.each_value { |it| it.end_period(till) } }
      end

      # @api private
      def forked(same)
        @running.each_value { |it| it.forked(same) }
      end
    end

    # Returns whether the session runs in this process.
    def running? = @periods.running?

    # Returns the last error of the block or the disk, or the reason why no profile is recorded.
    #
    # @return [Exception, nil]
    def error = @losses.error

    def inspect
      "#<#{self.class} #{running? ? "running" : "over"}>"
    end

    # @api private
    def start = @periods.start

    # Returns whether a profile can only be taken on the thread of the periods.
    #
    # @api private
    def own_thread? = false

    # @api private
    def current? = Always.last?(self)

    # @api private
    def begin_session(options, windows, &begun) = Session.begin(options, windows: windows, &begun)

    # @api private
    def period_ended = nil

    # @api private
    def lose(error) = @losses.add(error)

    # @api private
    def end_period(till) = @periods.finish(till, stop: false)
  end
  private_constant :Always
end
