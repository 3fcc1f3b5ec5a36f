# frozen_string_literal: true

require_relative "../../control/client"
require_relative "../command"

module Profiler
  module CLI
    class Trace < Command
      # What is known here about a trace in another process, should that be killed: its number of calls, and a copy of its result
      # that is renewed now and then.
      class Seen
        # The seconds from the beginning to the first copy, and the most between two. They double, as a copy of many calls takes the
        # process a while.
        FIRST = 1
        LONGEST = 10
        private_constant :FIRST, :LONGEST

        # @return [Integer, nil] the last known number of calls
        attr_reader :calls

        # @return [String, nil] the last copy of the result
        attr_reader :copy

        # @return [String, nil] the time of day of {#copy}
        attr_reader :copied_at

        # @param number [Integer] of the trace
        # @param form [Hash] +json+ and +columns+, of the result
        def initialize(client, number, form)
          @client = client
          @number = number
          @form = form
          @pause = FIRST
          @next = now + FIRST
        end

        def running? = @running

        # @return [String] the last known number of calls, in words
        def calls_at = "#{@calls} call#{"s" unless @calls == 1} had begun by #{@at}"

        # Asks how the trace is getting on.
        #
        # @yieldparam lines [Array<String>] those that were logged since
        # @return [Array(String, String), nil] if the process has just ended: the result, and the reason why it sent that
        # @raise [Control::Client::Failed]
        def ask
          state, result = @client.ask({ do: "tracing", trace: @number, lines: !@form[:json] })
          return [result, state["farewell"].to_s] if state["farewell"]

          yield Array(state["lines"]).grep(String)
          calls = state["calls"].to_i
          @running, @at = state["running"], time
          changed, @calls = calls != @calls, calls
          renew if changed || @stale
        end

        # Receives what the process has sent by itself, as it ended.
        #
        # @return [Array(String, String)] as {#ask}
        # @raise [Control::Client::Failed]
        def farewell
          head, result = @client.farewell
          raise Control::Client::Gone, "the process has ended" unless head

          [result, head["farewell"].to_s]
        end

        # Ends the trace.
        #
        # @return [Array(String, String)] its result, and the reason if it is that of {#farewell}
        # @raise [Control::Client::Failed]
        def result = request

        private

        def request(**more)
          head, text = @client.ask({ do: "traced", trace: @number, **@form, **more })
          [text, head["farewell"]]
        end

        # Renews the copy if it is time to.
        def renew
          @stale = true
          return if now < @next

          copy, reason = request(keep: true)
          return [copy, reason] if reason

          @copy, @copied_at, @stale = copy, time, false
          @pause = [@pause * 2, LONGEST].min
          @next = now + @pause
          nil
        end

        def time = Time.now.strftime("%H:%M:%S")

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
