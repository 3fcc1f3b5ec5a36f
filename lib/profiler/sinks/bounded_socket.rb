# frozen_string_literal: true

require "net/protocol"
require_relative "../process/own_socket"

module Profiler
  module Sinks
    # Extends the socket of a request with limits: a backend may send headers without an end, each in time, and read a body byte
    # by byte. An app that closes all descriptors may have a file of its own by the same number afterwards: that is neither read,
    # written nor closed.
    module BoundedSocket
      # @param io [IO, OpenSSL::SSL::SSLSocket]
      # @param till [Float] the end of the request, on {Clock.now}
      # @param most [Integer] bytes of the reply
      def self.bound(io, till, most)
        io.extend(BoundedSocket)
        io.instance_variable_set(:@profiler_till, till)
        io.instance_variable_set(:@profiler_left, most)
        io.instance_variable_set(:@profiler_own, OwnSocket.new(io.to_io))
      end

      def read_nonblock(*, **)
        check_profiler_socket
        read = super
        return read unless read.is_a?(String)

        @profiler_left -= read.bytesize
        raise Net::HTTPBadResponse, "the backend's reply is too long" if @profiler_left.negative?

        read
      end

      def write_nonblock(*, **)
        check_profiler_socket
        super
      end

      def close
        @profiler_own.ours? ? super : @profiler_own.close
      end

      private

      def check_profiler_socket
        raise IOError, "the app has closed the connection to the backend" unless @profiler_own.ours?
        raise Net::ReadTimeout, "the backend took too long" if Clock.now > @profiler_till
      end
    end
  end
end
