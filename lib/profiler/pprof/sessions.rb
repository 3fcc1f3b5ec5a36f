# frozen_string_literal: true

module Profiler
  class Pprof
    # The sessions that are recorded for clients, a bounded number at once. Each ends with its request, however that ends.
    #
    # If the thread of a place was interrupted on its way out, or is a parent's, the place is freed by the next request and in a
    # forked child.
    class Sessions
      # Raised if all places are taken; +seconds+ says when to try again.
      class Full < Error
        attr_reader :seconds

        def initialize(message, seconds)
          super(message)
          @seconds = seconds
        end
      end

      # A place that is taken, by a thread until some time on {Clock.now}.
      Place = Struct.new(:owner, :thread, :till, :session) do
        # Returns whether its thread did not leave it: the thread was interrupted on the way out, or is the parent's.
        def over? = !thread.alive? || Clock.now > till + GRACE

        def leave
          OPEN.delete(self)
          session&.discard
        end
      end

      # The time in seconds between two checks whether a client has gone.
      CHECK = 0.25
      # The time in seconds that a profile can take to be named and encoded.
      GRACE = 60
      # The places that are taken, of all owners. By identity, so that operations run no Ruby code.
      OPEN = {}.compare_by_identity
      # Held while a place is taken.
      LOCK = Mutex.new
      private_constant :Place, :CHECK, :GRACE, :OPEN, :LOCK

      class << self
        # Listens to {Ends}: in a child, the threads that would end these sessions do not exist.
        #
        # @api private
        def forked(_same) = sweep

        # Ends the sessions that no thread will end.
        #
        # @api private
        def sweep = OPEN.keys.each { |it| it.leave if it.over? }
      end

      # @param most [Integer]
      def initialize(most)
        @most = most
      end

      # Records a session for some seconds.
      #
      # @param options [Hash] as for {Profiler.start}
      # @param client [Client, nil]
      # @return [Profile, nil] nil if the client has gone
      # @raise [Full, ArgumentError, Unsupported]
      def record(options, seconds, client)
        hold(seconds) do |place|
          Session.begin(options) { |session| place.session = session }
          next unless wait(seconds, client)

          # Rotates gently, so that other threads run while functions are named.
          profile = nil
          place.session.rotate(gently: true) { |it| profile = it }
          profile
        end
      end

      # Takes a place for the block.
      #
      # @yieldparam place [Place] its session ends with the block
      # @return what the block returns
      # @raise [Full]
      def hold(seconds = 1)
        place = Place.new(self, Thread.current, Clock.now + seconds)
        begin
          enter(place)
          yield place
        ensure
          # A second exception may already be on its way.
          Thread.handle_interrupt(Object => :never) { place.leave }
        end
      end

      private

      def enter(place)
        Ends.listen(Sessions)
        LOCK.synchronize do
          Sessions.sweep
          mine = OPEN.keys.select { |it| it.owner.equal?(self) }
          raise Full.new("#{mine.size} profiles are being recorded already", seconds_left(mine)) if mine.size >= @most

          OPEN[place] = true
        end
      end

      def seconds_left(places) = (places.map(&:till).min - Clock.now).ceil.clamp(1, GRACE)

      # @return [Boolean] false if the client has gone
      def wait(seconds, client)
        till = Clock.now + seconds
        while (left = till - Clock.now).positive?
          return false if client&.gone?

          Clock.sleep(client ? [left, CHECK].min : left)
        end
        true
      end
    end
  end
end
