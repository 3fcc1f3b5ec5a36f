# frozen_string_literal: true

require "socket"

module Profiler
  # The path of a Unix socket that the profiler listens on. Its file has mode 0600 from its first instant on. One that a process left behind is
  # replaced; one on which somebody listens is not.
  class UnixAddress
    BACKLOG = 64
    # The part of a path that stands for the pid.
    PID = "%p"
    private_constant :BACKLOG, :PID

    # @param text [String]
    # @return [Boolean]
    def self.match?(text) = text.include?("/") && !text.include?("\0")

    # @param text [String]
    # @raise [ArgumentError] if the path is too long
    def initialize(text)
      @text = File.expand_path(text)
      @path = @text.gsub(PID, Process.pid.to_s)
      Addrinfo.unix(@path) # or it would be found out by those who connect
    end

    # The mode of the file decides.
    def demand_permission(_token, _permit) = nil

    # @return [Socket] that listens
    # @raise [SystemCallError]
    def open
      demand_free
      # Under another name until it has its mode. Nobody can connect before it listens.
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

    # @raise [Errno::EADDRINUSE] if somebody listens there
    # @raise [Errno::EEXIST] if there is a file of another kind
    def demand_free
      return unless File.symlink?(@path) || File.exist?(@path)
      raise Errno::EEXIST, @path unless File.lstat(@path).socket?

      Socket.unix(@path).close
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
end
