# frozen_string_literal: true

require "json"
require_relative "traces"

module Profiler
  class Control
    # The sessions and traces that clients of the control socket have started.
    class Sessions
      # The maximum number of concurrent sessions.
      MAX_SESSIONS = 16
      # Options whose values are Symbols.
      SYMBOLS = %i[mode engine threads gc].freeze
      # Options that a request may have. Others take objects of this process.
      OPTIONS = %i[mode interval frequency max_overhead every every_bytes threads labels static_labels depth engine gc ignore_gc timeline fibers spans
                   owners trim_path name metadata].freeze
      private_constant :MAX_SESSIONS, :SYMBOLS, :OPTIONS

      # Returns the head of a response that reports an error.
      #
      # @param message [String]
      # @param fault [OptionFault, nil] what is wrong with an option
      # @return [String]
      def self.error(message, fault = nil) = JSON.generate({ error: message, fault: fault&.to_a }.compact)

      # @yieldparam connection [Integer] the client that detaches from the process
      def initialize(&on_detach)
        @on_detach = on_detach
        @last = 0
        # The sessions by number. A session may be bound to a connection and end with it. One that was stopped with +keep+ retains
        # its profile until a client forgets it, because the client may fail to store the profile.
        @running = {}
        @traces = Traces.new
      end

      # @param connection [Integer]
      # @param line [String] the request
      # @return [Array(String, String)] the head of the response and its body
      def answer(connection, line)
        request = JSON.parse(line, symbolize_names: true)
        case request.fetch(:do)
        when "sessions" then head(sessions: list)
        when "start" then head(session: start(request, connection))
        when "memory" then memory(request)
        when "stop" then stop(request)
        when "forget" then head(session: forget(request))
        when "snapshot" then taken(request) { |session| session.snapshot }
        when "rotate" then taken(request) { |session| session.rotate(gently: true) }
        when "detach" then head(detached: !@on_detach.call(connection).nil?)
        when "trace" then head(**@traces.begin(request, connection))
        when "tracing" then head(**@traces.state(request))
        when "traced" then text(@traces.end(request))
        end
      rescue *RESCUED_ERRORS, JSON::ParserError => e
        [Sessions.error(e.message, OptionFault.of(e)), ""]
      end

      # Hands over the results of traces, and the profiles of sessions that were started with +farewell+, as no client gets an
      # answer any more. The sessions run on.
      #
      # @param why [String]
      # @yieldparam connection [Integer]
      # @yieldparam head [String] of the last answer
      # @yieldparam body [String]
      def farewell(why)
        @traces.farewell { |connection, trace, result| yield connection, JSON.generate({ trace: trace, farewell: why, bytes: result.bytesize }), result }
        @running.to_a.each do |number, running|
          next unless running[:farewell] && running[:connection]

          yield running[:connection], *last_profile(number, running[:session], why)
        end
      end

      # Ends the sessions and traces of a client that has disconnected.
      def leave(connection)
        @traces.leave(connection)
        @running.select { |_number, it| it[:connection] == connection }.each_key { |number| @running.delete(number)[:session].discard }
      end

      # Ends all sessions and traces, and discards their results.
      def discard
        @traces.discard
        @running.each_value { |it| it[:session].discard }
        @running.clear
      end

      private

      # @return [Array(String, String)] the head of the last answer and its body, which says why if there is no profile
      def last_profile(number, session, why)
        body = session.snapshot.to_pprof
        [JSON.generate({ session: number, farewell: why, bytes: body.bytesize }), body]
      rescue *RESCUED_ERRORS => e
        [Sessions.error("#{why}, and its profile is lost: #{Losses.reason(e)}"), ""]
      end

      def list
        @running.map do |number, running|
          { session: number, mode: running[:mode], age_s: (Clock.now - running[:began]).round(3), bound: !running[:connection].nil?, stopped: running.key?(:body) }
        end
      end

      # Starts a session. If there are too many, discards the oldest profile that was retained with +keep+.
      def start(request, connection)
        @running.delete(@running.find { |_, it| it.key?(:body) }&.first) if @running.size >= MAX_SESSIONS
        raise ArgumentError, "#{@running.size} sessions are running already" if @running.size >= MAX_SESSIONS

        options = options_of(request.fetch(:options, {}))
        session = Session.begin(options)
        @running[@last += 1] = { session: session, mode: options.fetch(:mode, :cpu), began: Clock.now, connection: (connection if request[:bound]), farewell: request[:farewell] }
        @last
      end

      def options_of(options)
        raise ArgumentError, "options: #{options.inspect} is not an object" unless options.is_a?(Hash)

        wrong = (options.keys - OPTIONS).first
        raise ArgumentError, "options: #{wrong} is not allowed (allowed: #{OPTIONS.join(", ")})" if wrong

        options.to_h { |name, value| [name, SYMBOLS.include?(name) ? symbols(value) : value] }
      end

      def symbols(value)
        case value
        when String then value.to_sym
        when Array then value.map { |it| it.is_a?(String) ? it.to_sym : it }
        else value
        end
      end

      def memory(request)
        options = { owners: request.fetch(:owners, false), force: request.fetch(:force, false), why: request[:why],
                    max_pause: request[:max_pause] }
        body = Profiler.memory(**options).to_json
        [JSON.generate({ bytes: body.bytesize }), body]
      end

      def stop(request)
        number, running = find(request)
        body = running[:body] || running[:session].stop.to_pprof
        request[:keep] ? @running[number] = running.merge(body: body, connection: nil) : @running.delete(number)
        with_body(number, body)
      end

      # Discards the retained profile of a stopped session. A running session continues.
      def forget(request)
        number, running = find(request)
        raise ArgumentError, "session #{number} is running: stop it first" unless running.key?(:body)

        @running.delete(number)
        number
      end

      def taken(request)
        number, running = find(request)
        with_body(number, running[:body] || yield(running[:session]).to_pprof)
      end

      # Returns the session with the requested number, or else the newest.
      def find(request)
        number = request.fetch(:session) { @running.keys.last }
        running = @running[number]
        raise NotRunning, number ? "session #{number} is not running" : "no session that was started over the control socket is running" unless running

        [number, running]
      end

      def with_body(number, body) = [JSON.generate({ session: number, bytes: body.bytesize }), body]

      def text(body) = [JSON.generate({ bytes: body.bytesize }), body]

      def head(**answer) = [JSON.generate(answer), ""]
    end
  end
end
