# frozen_string_literal: true

module Profiler
  class Pprof
    # Responds to requests for profiles over HTTP/1.1, for programs without Rack. {Pprof.listen} starts it. It ends with the
    # process, or by {close}.
    #
    # A socket's file is removed at the end of the process and before +exec+. A forked child closes its copies of all
    # sockets, or clients of a parent that is gone would wait for it.
    class Listener
      # The path of its app, and that of Prometheus.
      METRICS = "/metrics"
      # The number of requests that are answered at the same time, in addition to those that record.
      MORE = 4
      # The pause after a stray exception, in seconds.
      PAUSE = 0.1
      # The open listeners. Compared by identity, so that lookups run no Ruby code.
      OPEN = {}.compare_by_identity
      # The app of all other paths.
      UNKNOWN = ->(env) { Answer.absent("PATH_INFO" => env.fetch("profiler.path", env["PATH_INFO"])) }
      private_constant :METRICS, :MORE, :PAUSE, :OPEN, :UNKNOWN

      class << self
        # @api private
        # @see Pprof.listen
        def start(address, token: nil, permit: nil, concurrency: 4, **options)
          Eager.load(Pprof)
          place = place_of(address)
          place.require_permission(token, permit)
          permit ||= ->(_env) { true } if place.is_a?(UnixAddress) && token.nil?
          app = Pprof.new(UNKNOWN, token: token, permit: permit, concurrency: concurrency, **options)
          Ends.listen(Listener)
          new(place, app, concurrency + MORE).tap(&:start)
        end

        # @api private
        def process_ends(_error) = OPEN.keys.each(&:leave)

        # Stops listening during exec: the program that replaces this one does not listen.
        #
        # @api private
        def around_exec
          hidden = OPEN.keys.each(&:leave)
          yield
        ensure
          hidden&.each(&:restart)
        end

        # @api private
        def forked(same) = OPEN.keys.each { |it| it.forked(same) }

        private

        def place_of(address)
          text = AnyObject.can?(address, :to_path) ? address.to_path : address
          form = [UnixAddress, TcpAddress].find { |it| it.match?(text) } if String === text && text.encoding.ascii_compatible?
          form&.new(text) or raise ArgumentError, "address: #{AnyObject.text(address)} is not an address (allowed: for example 127.0.0.1:6060 or /run/app/pprof-%p.sock)"
        end
      end

      # @param place [TcpAddress, UnixAddress]
      # @param app [Pprof]
      # @param most [Integer] requests at once
      def initialize(place, app, most)
        @place = place
        @app = app
        @most = most
        @losses = Losses.new("a request for a profile failed")
      end

      # Returns the address that it listens on.
      #
      # @return [String] +HOST:PORT+, or a path
      def address = @place.to_s

      # Returns whether it listens in this process.
      def running? = OPEN.key?(self) && @thread&.alive? ? true : false

      # Stops listening. Profiles that are being recorded for clients end without a response.
      #
      # @return [nil]
      def close
        OPEN.delete(self)
        thread, @thread = @thread, nil
        thread&.kill unless thread.equal?(Thread.current)
        @connections&.close
        @place.leave
        nil
      end

      # @api private
      def start
        server = @place.open
        @connections = Connections.new(server, self, @most, @losses)
        @leaving = false
        OPEN[self] = true
        begin_thread
        started = true
      ensure
        unless started
          OPEN.delete(self)
          server&.close
          @place.leave
        end
      end

      # Removes the file of a socket, as the process ends.
      #
      # @api private
      def leave
        @leaving = true
        @place.leave
      end

      # Listens again, if the process did not end after all.
      #
      # @api private
      def restart
        return @leaving = false unless @place.is_a?(UnixAddress)

        close
        start
      rescue *RESCUED_ERRORS => e
        @losses.add(e)
      end

      # Starts over in a forked child. Its threads are the parent's, and it has copies of all connections.
      #
      # @param same [Boolean] whether that child is this process, which became a daemon
      # @api private
      def forked(same)
        if same
          @connections.start_over
          return begin_thread
        end
        OPEN.delete(self)
        @connections.close
        @place = @place.in_child or return
        start
      rescue *RESCUED_ERRORS => e
        @losses.add(e)
      end

      # @param env [Hash]
      # @return [Array] the response
      # @api private
      def call(env)
        path = env["PATH_INFO"]
        path == METRICS ? @app.call(env.merge("PATH_INFO" => AT + METRICS, "profiler.path" => path)) : @app.call(env)
      end

      # @api private
      def token?(env) = @app.token?(env)

      private

      # Starts the thread, which inherits the mask so that it runs even if it is killed at once.
      def begin_thread
        Thread.handle_interrupt(Object => :never) { @thread = BackgroundThread.new("profiler listener") { work } }
      end

      # Accepts connections. A stray exception ends the current step.
      def work
        begin
          Thread.handle_interrupt(Object => :never) { Thread.handle_interrupt(Object => :immediate) { @connections.serve } }
        rescue Exception => e # rubocop:disable Lint/RescueException -- the app may raise in all threads; a kill is not rescued
          @losses.add(e)
          Clock.sleep(PAUSE)
          retry if @thread.equal?(Thread.current)
        end
      ensure
        if @thread.equal?(Thread.current) && !@leaving
          Losses.warn("no longer listening on #{address}, because #{@connections.open? ? "the thread was killed" : "the app closed its socket"}")
          close
        end
      end
    end
  end
end
