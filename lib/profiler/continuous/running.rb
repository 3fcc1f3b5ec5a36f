# frozen_string_literal: true

module Profiler
  class Continuous
    # The sessions of this process: at most one of each kind.
    module Running
      KINDS = { continuous: "a continuous session", flight: "a flight recorder" }.freeze

      # Held while another becomes the current one.
      LOCK = Mutex.new
      private_constant :LOCK

      # By kind. It is replaced and never changed, as others read it without the lock.
      @sessions = {}

      class << self
        # @return [Continuous, nil] nil if none runs
        def find(kind)
          it = @sessions[kind]
          it if it&.running?
        end

        # Makes what the block returns the one of its kind, before it starts. So a fork and the end of the process find it.
        #
        # @raise [AlreadyRunning]
        def claim(kind)
          LOCK.synchronize do
            raise AlreadyRunning, "#{KINDS.fetch(kind)} is running in this process: stop it first" if @sessions[kind]&.pending?

            @sessions = @sessions.merge(kind => yield)
          end
        end

        # Ends all, for the end of the process.
        def finish
          @sessions.each_value(&:stop)
        end

        # Ends the periods of all.
        def flush
          @sessions.each_value { |it| it.flush if it.running? }
        end

        # @param same [Boolean] whether the child is this process, which became a daemon
        def continue_in_child(same: false)
          @sessions.each_value { |it| it.continue_in_child(same: same) }
        end
      end
    end
  end
end
