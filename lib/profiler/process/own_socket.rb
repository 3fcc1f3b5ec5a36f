# frozen_string_literal: true

module Profiler
  # A socket of the profiler, in a process that may close any descriptor. The app may close it and open a file or socket of its
  # own by the same number, so a socket is recognized by its device and inode.
  class OwnSocket
    # @param socket [BasicSocket] just opened
    def initialize(socket)
      @socket = socket
      @identity = identity
    end

    # @return [BasicSocket]
    attr_reader :socket

    # Returns whether the descriptor still belongs to this socket.
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
  private_constant :OwnSocket
end
