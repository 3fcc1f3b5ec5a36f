# frozen_string_literal: true

require "socket"

module Profiler
  class Pprof
    # An address of TCP that a {Listener} has: +HOST:PORT+.
    class TcpAddress
      BACKLOG = 64
      # The form of an address. The port follows the last colon, and an IPv6 address is in brackets.
      FORM = /\A(?:\[(?<six>[\w:.%]+)\]|(?<host>[^\[\]:\/]*)):(?<port>\d{1,5})\z/.freeze
      MAX_PORT = 65_535
      private_constant :BACKLOG, :FORM, :MAX_PORT

      # @param text [String]
      # @return [Boolean]
      def self.match?(text) = FORM.match?(text)

      # @param text [String]
      # @raise [ArgumentError, SocketError]
      def initialize(text)
        parts = FORM.match(text)
        host = parts[:six] || parts[:host]
        port = Integer(parts[:port], 10)
        raise ArgumentError, "address: #{text.inspect} has no host (allowed: HOST:PORT, such as 127.0.0.1:6060)" if host.empty?
        raise ArgumentError, "address: #{text.inspect} has no port from 0 to #{MAX_PORT}" if port > MAX_PORT

        @info = Addrinfo.tcp(host, port)
        @text = text
      end

      # @param token [String, nil]
      # @param permit [#call, nil]
      # @raise [ArgumentError] if users other than the owner of this process could get profiles
      def require_permission(token, permit)
        return if token
        raise ArgumentError, "address: #{self} is not a loopback address, so it needs token:" unless @info.ipv4_loopback? || @info.ipv6_loopback?
        raise ArgumentError, "address: #{self} needs token: or permit:, because every user of this machine can connect" unless permit
      end

      # @return [Socket] that listens
      # @raise [SystemCallError]
      def open
        socket = Socket.new(@info.afamily, Socket::SOCK_STREAM)
        socket.setsockopt(:SOCKET, :REUSEADDR, true)
        socket.bind(@info)
        socket.listen(BACKLOG)
        @text = socket.local_address.inspect_sockaddr # with the port that it got
        opened = socket
      ensure
        socket&.close unless opened
      end

      # A no-op, because TCP leaves no file behind.
      def leave = nil

      # Returns nil: a forked child cannot listen on the same address.
      def in_child = nil

      def to_s = @text
    end
  end
end
