# frozen_string_literal: true

require_relative "process/signal_name"

module Profiler
  # The control socket of this process. {Profiler.control} opens it.
  #
  # A native thread serves it, so it responds even if no Ruby code can run. Requests that need Ruby are handled by a thread of
  # the profiler. A forked child has a socket of its own.
  class Control
    autoload :Client, "#{__dir__}/control/client"
    autoload :Place, "#{__dir__}/control/place"
    autoload :Sessions, "#{__dir__}/control/sessions"

    # The pause after a stray exception, in seconds.
    PAUSE = 0.1
    # Values of the variable that turn the socket off.
    OFF = %w[0 false].freeze
    private_constant :PAUSE, :OFF

    LOCK = Mutex.new
    private_constant :LOCK

    # Replaces the methods that trap signals, as {Interop::Hooks}. An app that traps the signal of the dump later sees it as it would
    # be without the dump, and both are called from then on.
    module Traps
      class << self
        def trap(original, receiver, *arguments, **options, &block)
          control = Control.current unless Platform.ractor_reason
          return original.bind_call(receiver, *arguments, **options, &block) unless control&.dumps_at?(arguments.first)

          control.without_dump { original.bind_call(receiver, *arguments, **options, &block) }
        end
      end
    end

    class << self
      # Returns the control socket of this process, or nil if there is none.
      #
      # @return [Control, nil]
      def current
        @current if @current&.running?
      end

      # @api private
      # @see Profiler.control
      def start(directory, dump_signal)
        signal = dump_signal && Signal.list.fetch(SignalName.of(AnyObject.word("dump_signal", dump_signal)))
        LOCK.synchronize do
          current&.dump_at(signal) if signal
          current || begin
            Eager.load
            Ends.listen(Control)
            @current&.close # its thread was killed
            @current = new(directory, signal).tap(&:start)
          end
        end
      end

      # Opens the control socket in the default directory, where the command that attached to this process looks for it. Keeps a
      # socket that the app has opened.
      #
      # @api private
      def attach
        reason = Profiler.unsupported_reason
        raise Unsupported, reason if reason

        current || start(Place.default.path, nil).tap { |it| it.attached = true }
      end

      # Opens the control socket in addition to other recordings, unless the environment forbids it. Only reports what fails.
      #
      # @param dump_signal [String, nil]
      # @api private
      def beside(dump_signal: nil)
        start(nil, dump_signal) unless OFF.include?(ENV.fetch(Place::VARIABLE, ""))
      rescue *RESCUED_ERRORS => e
        Losses.warn("no control socket was opened: #{Losses.reason(e)}")
      end

      # @api private
      def process_ends(_error) = @current&.end_with_process

      # Removes the socket while the block calls exec, as the new program has none. If exec fails, clients and their sessions
      # continue, except for those that trace.
      #
      # @api private
      def around_exec
        @current&.farewell("the process has called exec")
        @current&.leave
        yield
      ensure
        @current&.listen_again
      end

      # @api private
      def becomes_daemon = @current&.farewell("the process has become a daemon")

      # @api private
      def forked(same) = @current&.forked(same)
    end

    # Whether a command has attached to this process: then it may also detach.
    #
    # @api private
    attr_writer :attached

    # @param directory [String, nil]
    # @param signal [Integer, nil] one that prints a dump
    # @raise [ArgumentError] if it is not a path
    def initialize(directory, signal)
      @place = Place.own(directory)
      @signal = signal
      @losses = Losses.new("the control socket is closed")
    end

    # Returns the path of the socket.
    #
    # @return [String]
    def path = @address.to_s

    # Installs a handler that prints a dump. If the app traps the signal, its trap is called too.
    #
    # @param signal [Integer]
    # @api private
    def dump_at(signal)
      [Kernel, Kernel.singleton_class, Signal.singleton_class].each { |owner| Interop.redefine(Traps, owner, :trap) }
      @signal = signal
      @arming = true # the extension traps the signal, too
      @server._dump_at(signal)
    ensure
      @arming = false
    end

    # Returns whether a signal, in any of the forms that trap accepts, prints a dump.
    #
    # @api private
    def dumps_at?(signal)
      return false if @signal.nil? || @arming

      @signal == (Integer === signal ? signal : Signal.list[AnyObject.utf8(signal).to_s.delete_prefix("SIG")])
    end

    # Runs the block, which traps the signal.
    #
    # @api private
    def without_dump
      ControlServer._restore_signal
      yield
    ensure
      dump_at(@signal) if @server
    end

    # Returns whether its thread is alive in this process.
    def running? = @thread&.alive? ? true : false

    # Closes the socket, discards the sessions that clients started, and restores the former handler of the dump signal.
    #
    # @return [nil]
    def close
      farewell("its control socket was closed") if @thread
      thread, @thread = @thread, nil
      server, @server = @server, nil
      server&._close
      ControlServer._restore_signal if @signal
      thread&.kill unless thread.equal?(Thread.current)
      @watch&.discard
      @sessions&.discard
      leave
    end

    # @api private
    def start
      @pid = Process.pid
      @watch = Session.begin({ mode: RUBY_VERSION < "3.3" ? :cpu : :wall }, watch: true)
      @sessions = Sessions.new { |connection| leave_with(connection) }
      @server = ControlServer._new
      listen
      begin_thread
      dump_at(@signal) if @signal
      started = true
    ensure
      unless started
        @server&._close
        @watch&.discard
        @address&.leave
      end
    end

    # Sends clients what they have traced or record, and removes the file of the socket, as the process ends.
    #
    # @api private
    def end_with_process
      @ends = true
      farewell("the process has ended")
    ensure
      leave
    end

    # Sends the clients that trace or record their results, in the process that they watch.
    #
    # @param why [String]
    # @api private
    def farewell(why)
      return unless @pid.equal?(Process.pid)

      @sessions&.farewell(why) { |connection, head, body| @server&._farewell(connection, head, body) }
    rescue *RESCUED_ERRORS => e
      @losses.add(e)
    end

    # Removes the file of the socket, in the process that made it.
    #
    # @api private
    def leave
      @address&.leave if @pid.equal?(Process.pid)
      nil
    end

    # Listens on a new socket, if the process did not end after all or the app has closed ours. Connections and sessions stay.
    #
    # @api private
    def listen_again
      return unless @server

      leave
      listen
    rescue *RESCUED_ERRORS => e
      @losses.add(e)
    end

    # Starts over in a forked child, whose threads are the parent's. A daemon gets another socket, too.
    #
    # @api private
    def forked(same)
      return unless @server

      @address&.leave if same
      @address = nil # the parent's, which stays if this process gets none
      @server._leave
      @thread = @server = nil
      @watch&.discard
      start
    rescue *RESCUED_ERRORS => e
      @losses.add(e)
    end

    private

    # Opens the socket. Its descriptor then belongs to the server.
    def listen
      @address, listener = place.listen
      listener.autoclose = false
      @server._listen(listener.fileno)
    end

    # Returns the directory for sockets. It belongs to the user who started the process. If the process has changed its user since
    # then, returns the default directory of the new user.
    def place = @place.ours? ? @place : Place.default

    # Starts the thread, which inherits the mask so that it runs even if it is killed at once.
    def begin_thread
      Thread.handle_interrupt(Object => :never) do
        @thread = BackgroundThread.new("profiler control", revival: method(:revive)) { work }
      end
    end

    # Starts another thread if the app killed this one.
    def revive
      begin_thread if @server && !@ends && @pid.equal?(Process.pid) && !running?
    end

    # Serves requests. A stray exception ends the current request.
    def work
      Thread.handle_interrupt(Object => :never) { Thread.handle_interrupt(Object => :immediate) { serve } }
    rescue Exception # rubocop:disable Lint/RescueException -- the app may raise in all threads; a kill is not rescued
      Clock.sleep(PAUSE)
      retry if @thread.equal?(Thread.current)
    end

    def serve
      while (server = @server)
        server._wait
        while (number, connection, line = server._next)
          answer(number, connection, line)
        end
      end
    end

    # Closes the socket once that client has its answer and has disconnected.
    def leave_with(connection)
      raise Error, "profiler attach did not open this control socket, the program itself did: it cannot be detached" unless @attached

      @leaving = connection
    end

    # Answers a request. All errors are sent to the client, even exceptions that other threads raise here.
    def answer(number, connection, line)
      case line
      when nil
        @sessions.leave(connection)
        close if connection == @leaving
      when "dump" then @server._dump(number)
      when "lost" then listen_again
      else
        head, body = @sessions.answer(connection, line)
        @server._answer(number, head, body)
      end
    rescue Exception => e # rubocop:disable Lint/RescueException -- as in {work}
      @server._answer(number, Sessions.error("the request failed: #{Losses.reason(e)}"), "")
      raise unless e.is_a?(StandardError)
    end
  end
end
