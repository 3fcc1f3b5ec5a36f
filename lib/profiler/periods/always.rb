# frozen_string_literal: true

require_relative "../process/ends"

module Profiler
  # The sessions for the life of the process: at most one of each kind. It listens to the ends of the process for all.
  module Always
    KINDS = { continuous: "a continuous session", flight: "a flight recorder" }.freeze

    # Held while another becomes the current one.
    LOCK = Mutex.new
    private_constant :LOCK

    # By kind. It is replaced and never changed, as others read it without the lock.
    @running = {}

    class << self
      # @return [Continuous, Flight, nil] nil if none runs
      def find(kind)
        it = @running[kind]
        it if it&.running?
      end

      # Starts what the block returns as the one of its kind. The end of the process and a fork find it from then on.
      #
      # @raise [AlreadyRunning]
      def claim(kind)
        LOCK.synchronize do
          raise AlreadyRunning, "#{KINDS.fetch(kind)} is running in this process: stop it first" if find(kind)

          mine = yield
          @running = @running.merge(kind => mine)
          Ends.listen(self)
          mine.start
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
  end
end
