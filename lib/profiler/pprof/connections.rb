# frozen_string_literal: true

require "stringio"

module Profiler
  class Pprof
    # The connections of a {Listener}. One thread accepts them and reads the heads of their requests, and each complete request
    # gets a thread. So clients that send slowly occupy no thread. Everything is bounded.
    #
    # A request gets a thread once its head is complete and its token is right. At most 64 heads are awaited, each for 5
    # seconds.
    class Connections
      # Connections whose heads are awaited. Beyond that the oldest is closed, as it has had the most time.
      WAITING = 64
      # The time in seconds that a client may take to receive its response.
      PATIENCE = 10
      # The pause in seconds before the next attempt if the process has no descriptor left.
      PAUSE = 1
      REASONS = { 200 => "OK", 400 => "Bad Request", 404 => "Not Found", 405 => "Method Not Allowed", 408 => "Request Timeout",
                  431 => "Request Header Fields Too Large", 500 => "Internal Server Error", 503 => "Service Unavailable" }.freeze
      private_constant :WAITING, :PATIENCE, :PAUSE, :REASONS

      # @param server [Socket] that listens
      # @param app [Listener]
      # @param most [Integer] requests at once
      # @param losses [Losses]
      def initialize(server, app, most, losses)
        @server = server
        @own = { server => OwnSocket.new(server) }.compare_by_identity
        @app = app
        @most = most
        @losses = losses
        @waiting = {}.compare_by_identity # heads by connection, the oldest first
        @busy = {}.compare_by_identity # threads by connection
      end

      # Serves until the thread is ended, or the app has closed the socket that listens.
      def serve
        while ours?(@server)
          @waiting.keys.each { |io| drop(io) unless ours?(io) }
          readable, = IO.select([@server, *@waiting.keys], nil, nil, seconds_left)
          close_late
          readable&.each { |io| io.equal?(@server) ? accept : read(io) if ours?(io) }
        end
      end

      # Returns whether the socket that listens is still there.
      def open? = ours?(@server)

      # Closes, in a daemon, the connections whose threads are its parent's.
      def start_over
        @busy.each_key { |io| drop(io) }
        @busy.clear
      end

      # Ends all threads of requests, and closes all connections.
      def close
        @busy.values.each { |it| it&.kill }
        @own.each_value(&:close)
      end

      private

      def ours?(io) = @own[io]&.ours?

      def seconds_left
        _, head = @waiting.first
        head && [head.till - Clock.now, 0].max
      end

      def close_late
        now = Clock.now
        late = @waiting.take_while { |_io, head| head.till <= now }
        late.each { |io, _head| finish(io, 408, "the request did not arrive in time") }
      end

      def accept
        io, = @server.accept_nonblock(exception: false)
        return unless io.is_a?(Socket)

        finish(@waiting.first.first, 503, "too many connections") if @waiting.size >= WAITING
        @own[io] = OwnSocket.new(io)
        @waiting[io] = Head.new
      rescue Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM => e
        @losses.add(e)
        Clock.sleep(PAUSE)
      rescue SystemCallError
        nil # the client has gone before it was accepted
      end

      def read(io)
        head = @waiting[io] or return
        bytes = io.read_nonblock(Head::LONGEST, exception: false)
        case bytes && (bytes == :wait_readable ? :partial : head.add(bytes))
        when nil then drop(io)
        when :invalid then finish(io, 400, "this is no HTTP/1.1")
        when :too_long then finish(io, 431, "the head has more than #{Head::LONGEST} bytes")
        when :complete then dispatch(io, head.env)
        end
      rescue SystemCallError, IOError
        drop(io)
      end

      # Requests without a token get no thread.
      def dispatch(io, env)
        return finish(io, 400, "this is no HTTP/1.1") unless env
        return refuse(io, env) unless @app.token?(env)
        return finish(io, 503, "#{@busy.size} requests are being answered") if @busy.size >= @most

        @waiting.delete(io)
        begin_thread(io, env.merge(facts(io)))
      end

      def refuse(io, env)
        answer(io, env, Answer.absent(env))
        drop(io)
      end

      # Starts a thread, which inherits the mask so that it runs even if it is killed at once.
      def begin_thread(io, env)
        Thread.handle_interrupt(Object => :never) do
          @busy[io] = nil
          BackgroundThread.new("profiler pprof") { work(io, env) }
        end
      rescue ThreadError
        @busy.delete(io) # the app has all threads that it may have
        finish(io, 503, "there is no thread to answer")
      end

      def work(io, env)
        @busy[io] = Thread.current
        Thread.handle_interrupt(Object => :immediate) { answer(io, env, respond(env), PATIENCE) }
      rescue Exception => e # rubocop:disable Lint/RescueException -- the app may raise in all threads; a kill is not rescued
        @losses.add(e)
      ensure
        @busy.delete(io)
        drop(io)
      end

      def respond(env)
        @app.call(env)
      rescue StandardError => e
        @losses.add(e)
        Answer.text(500, "the profiler failed: #{Losses.reason(e)}")
      end

      # Returns the rest of the env.
      def facts(io)
        address = io.remote_address
        { "REMOTE_ADDR" => address.ip? ? address.ip_address : "", "SERVER_NAME" => "localhost", "SERVER_PORT" => "80", "rack.version" => [1, 3],
          "rack.url_scheme" => "http", "rack.input" => StringIO.new(String.new), "rack.errors" => $stderr, "profiler.socket" => io }
      end

      # Responds without a thread, and closes the connection.
      def finish(io, status, text)
        answer(io, {}, Answer.text(status, text))
        drop(io)
      end

      def drop(io)
        @waiting.delete(io)
        own = @own.delete(io)
        return unless own

        if own.ours?
          quietly { io.close_write } # or a forked child that has it too would keep the client waiting
          quietly { io.read_nonblock(Head::LONGEST, exception: false) } # what is unread would reset the connection
        end
        own.close
      end

      # @param patience [Numeric] seconds that the client may take
      def answer(io, env, response, patience = 0)
        status, headers, body = response
        lines = headers.map { |name, value| "#{name}: #{value}\r\n" }
        head = env["REQUEST_METHOD"] == "HEAD"
        lines << "content-length: #{body.sum(&:bytesize)}\r\n" unless head || headers.key?("content-length")
        bytes = ["HTTP/1.1 #{status} #{REASONS.fetch(status, "Error")}\r\n", *lines, "connection: close\r\n\r\n", *(head ? [] : body)]
        write(io, bytes.map(&:b).join, Clock.now + patience)
      rescue SystemCallError, IOError
        nil # the client has gone
      end

      def write(io, bytes, till)
        until bytes.empty?
          return unless ours?(io)

          written = io.write_nonblock(bytes, exception: false)
          if written == :wait_writable
            return unless IO.select(nil, [io], nil, [till - Clock.now, 0].max)
          else
            bytes = bytes.byteslice(written..)
          end
        end
      end

      def quietly
        yield
      rescue SystemCallError, IOError
        nil # the client has gone
      end
    end
  end
end
