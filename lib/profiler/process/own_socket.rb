# frozen_string_literal: true

module Profiler
  # A socket of the profiler's own, in a process that may close any descriptor. The number of one that the app closed may stand for a
  # file or a socket of the app: so a socket is known by its device and inode.
  class OwnSocket
    # @param socket [BasicSocket] just opened
    def initialize(socket)
      @socket = socket
      @identity = identity
    end

    # @return [BasicSocket]
    attr_reader :socket

    # Whether the descriptor is still that of the socket.
    def ours? = !@socket.closed? && @identity == identity

    # Closes it, unless the app did.
    #
    # @return [nil]
    def close
      ours? ? @socket.close : @socket.autoclose = false
      nil
    rescue SystemCallError, IOError
      nil # another thread was faster
    end

    private

    def identity
      stat = @socket.stat
      [stat.dev, stat.ino]
    rescue SystemCallError, IOError
      nil
    end
  end
end
