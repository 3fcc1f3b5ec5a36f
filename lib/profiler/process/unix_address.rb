# frozen_string_literal: true

require "socket"
require_relative "../store/file_name"

module Profiler
  # The path of a Unix socket that the profiler listens on. Its file has mode 0600 from the first instant. A socket that a
  # process left behind is replaced; a socket with a listener is not.
  class UnixAddress
    BACKLOG = 64
    # The part of a path that stands for the pid.
    PID = "%p"
    private_constant :BACKLOG, :PID

    # @param text [String]
    # @return [Boolean]
    def self.match?(text) = text.include?("/") && !text.include?("\0")

    # Removes the file of a socket without a listener.
    def self.remove_left(path)
      socket = Socket.new(:UNIX, :STREAM)
      socket.connect_nonblock(Addrinfo.unix(path))
    rescue Errno::ECONNREFUSED
      begin
        File.unlink(path) if File.socket?(path) && File.owned?(path)
      rescue SystemCallError
        nil # another process was faster
      end
    rescue SystemCallError, ArgumentError
      nil # another process listens, or it is not one of our sockets
    ensure
      socket&.close
    end

    # @param text [String]
    # @raise [ArgumentError] if the path is too long
    def initialize(text)
      @text = FileName.absolute(text)
      @path = @text.gsub(PID, Process.pid.to_s)
      Addrinfo.unix(@path) # or it would be found out by those who connect
    end

    # Returns nil: the mode of the file decides who may connect.
    def require_permission(_token, _permit) = nil

    # @return [Socket] that listens
    # @raise [SystemCallError]
    def open
      require_free
      # The socket has another name until it has its mode. No client can connect before it listens.
      temporary = File.join(File.dirname(@path), ".#{Random.urandom(4).unpack1("H*")}")
      socket = Socket.new(:UNIX, :STREAM)
      socket.bind(Addrinfo.unix(temporary))
      File.chmod(0o600, temporary)
      socket.listen(BACKLOG)
      File.rename(temporary, @path)
      @file = identity
      opened = socket
    ensure
      unless opened
        socket&.close
        remove(temporary) if temporary
      end
    end

    # Removes the file, if it is still this one.
    def leave
      remove(@path) if @file && @file == identity
      @file = nil
    end

    # @return [UnixAddress, nil] the address of a forked child; nil if it is the same
    def in_child
      UnixAddress.new(@text) if @text.include?(PID)
    end

    def to_s = @path

    private

    # @raise [Errno::EADDRINUSE] if another process listens there
    # @raise [Errno::EEXIST] if there is a file of another kind
    def require_free
      return unless File.symlink?(@path) || File.exist?(@path)
      raise Errno::EEXIST, @path unless File.lstat(@path).socket?

      probe = Socket.new(:UNIX, :STREAM)
      begin
        probe.connect_nonblock(Addrinfo.unix(@path)) # it would wait for ever where nobody accepts
      rescue Errno::EAGAIN
        nil # the queue of who listens is full
      ensure
        probe.close
      end
      raise Errno::EADDRINUSE, @path
    rescue Errno::ECONNREFUSED, Errno::ENOENT
      nil # its process is gone
    end

    def identity
      stat = File.lstat(@path)
      [stat.dev, stat.ino]
    rescue SystemCallError
      nil
    end

    def remove(path)
      File.unlink(path)
    rescue SystemCallError
      nil # it is gone, or the directory is
    end
  end
  private_constant :UnixAddress
end
