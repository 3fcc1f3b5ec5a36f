# frozen_string_literal: true

require "json"

module Profiler
  class Control
    # The sessions that other processes began over the socket.
    class Sessions
      # Sessions at once.
      MOST = 16
      # Options whose values are Symbols.
      SYMBOLS = %i[mode engine threads gc].freeze
      # Options that a request may have: those that need no object of this process.
      OPTIONS = %i[mode interval frequency max_overhead every every_bytes threads labels static_labels depth engine gc ignore_gc timeline fibers spans
                   trim_path name metadata].freeze
      private_constant :MOST, :SYMBOLS, :OPTIONS

      # The head of an answer that is none.
      #
      # @param message [String]
      # @return [String]
      def self.error(message) = JSON.generate({ error: message })

      def initialize
        @last = 0
        # By number. Each has the connection with which it ends, if it does.
        @running = {}
      end

      # @param connection [Integer]
      # @param line [String] the request
      # @return [Array(String, String)] the head of the answer and its body
      def answer(connection, line)
        request = JSON.parse(line, symbolize_names: true)
        case request.fetch(:do)
        when "sessions" then head(sessions: list)
        when "start" then head(session: start(request, connection))
        when "stop" then finish(request) { |session| session.stop }
        when "snapshot" then taken(request) { |session| session.snapshot }
        when "rotate" then taken(request) { |session| session.rotate(gently: true) }
        end
      rescue *OWN_TROUBLE, JSON::ParserError => e
        [Sessions.error(e.message), ""]
      end

      # A client has gone: its sessions end with it.
      def leave(connection)
        @running.select { |_number, it| it[:connection] == connection }.each_key { |number| @running.delete(number)[:session].discard }
      end

      # Ends all, without their profiles.
      def discard
        @running.each_value { |it| it[:session].discard }
        @running.clear
      end

      private

      def list
        @running.map { |number, it| { session: number, mode: it[:mode], age_s: (Clock.now - it[:begun]).round(3), bound: !it[:connection].nil? } }
      end

      def start(request, connection)
        raise ArgumentError, "#{@running.size} sessions run already" if @running.size >= MOST

        options = options_of(request.fetch(:options, {}))
        session = Session.begin(options)
        @running[@last += 1] = { session: session, mode: options.fetch(:mode, :cpu), begun: Clock.now, connection: (connection if request[:bound]) }
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

      def finish(request)
        number, it = find(request)
        answer = profile(number, yield(it[:session]))
        @running.delete(number)
        answer
      end

      def taken(request)
        number, it = find(request)
        profile(number, yield(it[:session]))
      end

      # The session of that number, or the newest.
      def find(request)
        number = request.fetch(:session) { @running.keys.last }
        it = @running[number]
        raise NotRunning, number ? "session #{number} does not run" : "no session runs that was begun over the control socket" unless it

        [number, it]
      end

      def profile(number, profile)
        body = profile.to_pprof
        [JSON.generate({ session: number, bytes: body.bytesize }), body]
      end

      def head(**answer) = [JSON.generate(answer), ""]
    end
  end
end
