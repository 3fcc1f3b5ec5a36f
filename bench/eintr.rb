# frozen_string_literal: true

require "fiddle"
require "io/nonblock"
require "socket"
require_relative "contenders"

# Measures how often a profiler's signals end system calls that wait (EINTR). In the program one thread sits in such calls and another
# burns CPU. The calls are raw calls of the C library, which are not started again after a handler, whatever its flags say. No
# code of Ruby's repeats them.
module Bench
  module Eintr
    WAIT_SECONDS = 0.1
    RATE = 50_000 # polls a second in the churn

    VOID = Fiddle::TYPE_VOIDP
    INT = Fiddle::TYPE_INT
    LONG = Fiddle::TYPE_LONG

    # The calls. Each method prepares one and returns it; the call waits for WAIT_SECONDS, or until a signal ends it.
    class Calls
      NAMES = %w[poll epoll_wait recv nanosleep connect].freeze

      def initialize(holding_gvl)
        @libc = Fiddle.dlopen(nil)
        @holding_gvl = holding_gvl
        @timeout = [0, (WAIT_SECONDS * 1e9).to_i]
        @kept = [] # what C has the address of
      end

      def poll(milliseconds = (WAIT_SECONDS * 1_000).to_i)
        poll = function("poll", VOID, LONG, INT)
        -> { poll.call(nil, 0, milliseconds) }
      end

      def epoll_wait
        descriptor = function("epoll_create1", INT).call(0)
        wait = function("epoll_wait", INT, VOID, INT, INT)
        events = buffer
        -> { wait.call(descriptor, events, 1, (WAIT_SECONDS * 1_000).to_i) }
      end

      # Receives from a socket that nobody sends to.
      def recv
        socket = UDPSocket.new
        socket.bind("127.0.0.1", 0)
        limit(socket, Socket::SO_RCVTIMEO)
        receive = function("recv", INT, VOID, LONG, INT)
        into = buffer
        -> { receive.call(socket.fileno, into, 16, 0) }
      end

      def nanosleep
        sleep = function("nanosleep", VOID, VOID)
        time = buffer(@timeout.pack("q2"))
        -> { sleep.call(time, nil) }
      end

      # Connects to a Unix socket whose queue is full, as nobody accepts: it waits as a call to a host that does not answer, without a network.
      def connect
        server = Socket.new(:UNIX, :STREAM)
        server.bind(Addrinfo.unix("\0bench #{Process.pid} #{object_id}")) # a name in no directory
        server.listen(0)
        address = server.local_address.to_sockaddr
        @kept << server << Socket.new(:UNIX, :STREAM).tap { |first| first.connect(address) }
        socket = Socket.new(:UNIX, :STREAM)
        limit(socket, Socket::SO_SNDTIMEO)
        connect = function("connect", INT, VOID, INT)
        to = buffer(address)
        -> { connect.call(socket.fileno, to, address.bytesize) }
      end

      private

      def function(name, *types)
        Fiddle::Function.new(@libc[name], types, INT, need_gvl: @holding_gvl)
      end

      def buffer(bytes = "\0" * 64)
        @kept << bytes.dup
        Fiddle::Pointer[@kept.last]
      end

      def limit(socket, which)
        @kept << socket
        socket.nonblock = false # Ruby's do not wait by themselves
        socket.setsockopt(Socket::SOL_SOCKET, which, [@timeout[0], @timeout[1] / 1_000].pack("q2"))
      end
    end

    module_function

    def clock
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # The calls made, those that a signal ended, and the seconds spent in them.
    def waits(arm, name, holding_gvl, seconds)
      profiled(arm) do
        call = Calls.new(holding_gvl).public_send(name)
        burner = Thread.new { loop { 1_000.times(&:to_s) } }
        till = clock + seconds
        found = { calls: 0, eintr: 0, seconds: 0.0 }
        while clock < till
          before = clock
          result = call.call
          found[:seconds] += clock - before
          count(found, result)
        end
        burner.kill.join
        found
      end
    end

    # Makes polls that never wait, one after another at RATE, with Ruby between them. The thread releases the GVL and takes it back
    # all the time, so a tick that was right when it was sent comes late.
    def churn(arm, seconds)
      profiled(arm) do
        poll = Calls.new(false).poll(0)
        found = { calls: 0, eintr: 0 }
        began = clock
        while (passed = clock - began) < seconds
          count(found, poll.call) while found[:calls] < passed * RATE
          100.times(&:to_s)
        end
        found.merge(seconds: passed)
      end
    end

    # Makes polls of a millisecond on one thread, with up to half a millisecond of Ruby between them. The wait often begins just as a
    # tick is on its way.
    def brief(arm, seconds)
      profiled(arm) do
        poll = Calls.new(false).poll(1)
        found = { calls: 0, eintr: 0 }
        till = clock + seconds
        while clock < till
          count(found, poll.call)
          rand(2_000).times(&:to_s)
        end
        found
      end
    end

    def count(found, result)
      found[:calls] += 1
      return if result != -1 || Fiddle.last_error == Errno::EAGAIN::Errno # its time is up
      raise SystemCallError.new("a call that was to wait", Fiddle.last_error) unless Fiddle.last_error == Errno::EINTR::Errno

      found[:eintr] += 1
    end

    def profiled(arm)
      contender = CONTENDERS.fetch(arm).call
      contender.start
      yield.tap { contender.stop }
    end
  end
end
