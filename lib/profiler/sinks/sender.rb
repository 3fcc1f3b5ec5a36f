# frozen_string_literal: true

require_relative "../process/ends"
require_relative "endpoint"

module Profiler
  module Sinks
    # Sends windows to a backend, one after another, on its own thread. Failed windows are retried with backoff, until they are
    # too old or too many newer ones wait; then they are lost, and counted.
    class Sender
      # An address to which bodies are sent, their media type, and the losses of these.
      Place = Struct.new(:endpoint, :type, :losses)

      # The request of a window, or of something else for the same backend.
      class Upload
        attr_reader :body, :place, :made_at

        def initialize(body, place)
          @body = body
          @place = place
          @made_at = Clock.now
        end
      end

      # The largest number of waiting windows, and of their bytes. Beyond either, the oldest are dropped.
      QUEUED = 32
      QUEUED_BYTES = 16 << 20
      # The largest age in seconds: backends refuse older windows.
      OLDEST = 3_600
      # The pause in seconds before the first retry; it doubles up to the longest pause.
      FIRST_PAUSE = 0.5
      LONGEST_PAUSE = 60
      # The longest sleep in seconds: a flush may be requested meanwhile.
      NAP = 0.25
      # The longest wait in seconds, past the end of the patience, for a finished window to be counted.
      COUNTING = 1
      private_constant :QUEUED, :QUEUED_BYTES, :OLDEST, :FIRST_PAUSE, :LONGEST_PAUSE, :NAP, :COUNTING

      # The number of windows of this process that were delivered.
      attr_reader :delivered

      # The number of failed attempts that were not the last one of their window.
      attr_reader :retried

      # The reason why the last attempt failed and will be repeated.
      #
      # @return [Exception, nil]
      attr_reader :trouble

      # The number of bytes of requests, as they were sent.
      attr_reader :bytes

      # @param name [String] of the thread
      # @param type [String] the media type of the requests
      # @param losses [Losses]
      # @param jitter [Numeric] seconds: a window waits for a random part of that, as those of other processes end now too
      def initialize(name, endpoint, type, losses, jitter: 0)
        @name = name
        @place = Place.new(endpoint, type, losses)
        @random = Random.new # the app's own continues as if we were not there
        @delay = jitter * @random.rand
        @waiting = [] # changed only by methods in C, which the GVL makes atomic: a trap may add to it
        @bell = Thread::Queue.new
        @delivered = @retried = @bytes = @failures = 0
      end

      # Queues a window for sending.
      #
      # @param body [String]
      # @param place [Place] another one for what is no window; then it is not counted as delivered
      def add(body, place = @place)
        @waiting.push(Upload.new(body, place))
        drop_oldest while @waiting.size > QUEUED || (@waiting.size > 2 && waiting_bytes > QUEUED_BYTES)
        start unless @thread&.alive?
        @bell << true
      end

      # Windows that wait, and their bytes.
      def waiting = @waiting.size

      def waiting_bytes = @waiting.sum { |it| it.body.bytesize }

      # Sends waiting windows without pauses, until an attempt fails.
      #
      # @param last [Boolean] whether what fails then is lost: this process ends
      def flush(last)
        return if @waiting.empty?

        @flush = last ? :last : :now
        start unless @thread&.alive?
        @bell << true
      end

      # Waits for the end of a {flush}.
      #
      # @return [Boolean] whether no window is left
      def wait(till)
        Clock.sleep(0.005) while @flush && @waiting.any? && @thread&.alive? && Clock.now < till
        given_up = @flush == :last ? @waiting.shift(QUEUED) : []
        given_up.each { |upload| lose(upload, "the process ended before it was sent") }
        finished = @sending unless [*@waiting, *given_up].include?(@sending)
        # The thread still has to count it, or to say that it was lost.
        Clock.sleep(0.005) while finished && @sending.equal?(finished) && @thread&.alive? && Clock.now < till + COUNTING
        @flush = nil
        @waiting.empty?
      end

      private

      # Starts the thread, which inherits the mask so that it runs even if it is killed at once.
      def start
        Thread.handle_interrupt(Object => :never) { @thread = BackgroundThread.new(@name) { work } }
      rescue ThreadError
        nil # the app has all threads that it may have; the next window tries again
      end

      # Sends windows until none is left. A stray exception ends one attempt. A kill ends the thread, and the next window starts
      # a new one.
      def work
        Thread.handle_interrupt(Object => :never) { Thread.handle_interrupt(Object => :immediate) { serve } }
      rescue Exception # rubocop:disable Lint/RescueException -- the app may raise in all threads
        retry
      end

      def serve
        loop do
          upload = @waiting.first
          next @bell.pop unless upload

          pause(upload)
          send_one(@sending = upload) if @waiting.first.equal?(upload) # it may have been dropped meanwhile
        end
      end

      # Waits until the next attempt is due.
      def pause(upload)
        till = @next_try || (upload.made_at + @delay)
        while !@flush && (left = till - Clock.now).positive?
          Clock.sleep([left, NAP].min)
        end
      end

      def send_one(upload)
        @bytes += upload.body.bytesize
        reply = upload.place.endpoint.post(upload.body, upload.place.type)
        return failed(upload, reply, reply.wait) if reply.again?

        return unless finish(upload) # it was counted as lost meanwhile

        return lose(upload, reply) unless reply.delivered?

        @delivered += 1 if upload.place.equal?(@place)
      rescue Exception => e # rubocop:disable Lint/RescueException -- what forbids connections in tests raises no StandardError
        failed(upload, e)
      ensure
        @sending = nil unless @waiting.include?(upload)
      end

      def failed(upload, reason, wait = nil)
        if @flush == :last || Clock.now - upload.made_at > OLDEST
          lose(upload, reason) if finish(upload)
          return
        end
        @flush = nil
        @trouble = as_error(upload, reason)
        @retried += 1
        pause = [FIRST_PAUSE * (2**@failures), LONGEST_PAUSE].min * (0.5 + @random.rand)
        @failures += 1 if pause < LONGEST_PAUSE
        @next_try = Clock.now + [pause, wait.to_f].max
      end

      # @return [Upload, nil] nil if it is not here any more
      def finish(upload)
        @next_try = @trouble = nil
        @failures = 0
        @waiting.delete(upload)
      end

      # Drops the oldest window that is not being sent, as that one may still arrive.
      def drop_oldest
        oldest = @waiting.delete(@waiting.find { |it| !it.equal?(@sending) })
        lose(oldest, "it waited for the backend, and too many newer ones came") if oldest
      end

      def lose(upload, reason) = upload.place.losses.add(as_error(upload, reason))

      # Returns the reason as an error that names the backend. Many errors of a network do not.
      def as_error(upload, reason)
        endpoint = upload.place.endpoint
        return Error.new("#{endpoint}: #{reason}") unless reason.is_a?(Exception)

        text = Losses.reason(reason)
        text.include?(endpoint.host) ? reason : Error.new("#{endpoint}: #{text} (#{reason.class})")
      end
    end
  end
end
