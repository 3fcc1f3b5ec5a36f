# frozen_string_literal: true

require "socket"

module Profiler
  class Pprof
    # The connection of a client, to see whether it has gone. Only some servers show it.
    class Client
      # The sockets of our own listener, and of Puma.
      KEYS = %w[profiler.socket puma.socket].freeze
      private_constant :KEYS

      # @param env [Hash]
      # @return [Client, nil]
      def self.of(env)
        socket = KEYS.map { |key| env.fetch(key, nil) }.compact.first
        io = socket.to_io if AnyObject.can?(socket, :to_io)
        new(io) if BasicSocket === io
      end

      # @param socket [BasicSocket]
      def initialize(socket)
        @socket = socket
      end

      # Returns whether it has closed its side. Go's server takes that for its end, too.
      def gone?
        read = @socket.recv_nonblock(1, Socket::MSG_PEEK, exception: false)
        read.nil? || read == "" # before Ruby 3.3
      rescue SystemCallError, IOError
        true
      end
    end
  end
end
