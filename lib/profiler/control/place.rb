# frozen_string_literal: true

require_relative "../store/file_name"

module Profiler
  class Control
    # A directory of control sockets, which only its owner may enter. A socket has the name of its process id.
    class Place
      # The environment variable that names the directory, or only enables the socket.
      VARIABLE = "PROFILER_CONTROL"
      SUFFIX = ".sock"
      private_constant :SUFFIX

      class << self
        # Returns the directory for the socket of this process.
        #
        # @param directory [String, nil]
        # @return [Place]
        # @raise [ArgumentError] if +directory+ is not a path
        def own(directory = nil)
          directory = directory.to_path if AnyObject.can?(directory, :to_path)
          unless directory.equal?(nil) || (String === directory && directory.encoding.ascii_compatible? && !directory.empty? && !directory.include?("\0"))
            raise ArgumentError, "directory: #{AnyObject.text(directory)} is not a path"
          end

          new(FileName.absolute(directory || of(Process.euid).first), Process.euid)
        end

        # Returns this user's directory for use if none was given, or if the given one belongs to another user.
        #
        # @return [Place]
        def default = new("/tmp/profiler-#{Process.euid}", Process.euid)

        # Returns the directories in which sockets of this user may be; for root, of all users.
        #
        # @return [Array<Place>]
        def all
          own = of(Process.euid).map { |it| new(it, Process.euid) }
          return own unless Process.euid.zero?

          # The name of a directory contains the id of its user. If it has another owner, it is skipped, unless root named it.
          # Any user can choose the name of a directory there, which need not be text.
          others = [*Dir["/tmp/profiler-*"], *Dir["/run/user/*/profiler"]].filter_map { |it| new(it, Integer(it.b[/\d+/], 10)) if it.b.match?(/\d/) }
          [*own, *others, *([new(named, File.stat(named).uid)] if named && File.exist?(named))].uniq(&:to_a)
        end

        # Returns the directories in which the sockets of a user may be. New sockets go to the first.
        #
        # @param uid [Integer]
        # @return [Array<String>]
        def of(uid)
          runtime = ENV.fetch("XDG_RUNTIME_DIR", "")
          own = File.join(runtime, "profiler") if uid == Process.euid && File.owned?(runtime)
          [named, own, "/tmp/profiler-#{uid}", "/run/user/#{uid}/profiler"].compact.uniq.map { |it| FileName.absolute(it) }
        end

        private

        # Returns the directory that the environment names.
        def named
          directory = ENV.fetch(VARIABLE, "")
          directory if directory.include?("/")
        end
      end

      # @return [String]
      attr_reader :path

      # @param path [String]
      # @param uid [Integer] the user to whom it must belong
      def initialize(path, uid)
        @path = path
        @uid = uid
      end

      # @return [Array(String, Integer)] the path and the user
      def to_a = [@path, @uid]

      # Returns whether the directory belongs to the user of this process.
      def ours? = @uid == Process.euid

      # Opens the socket of this process. Removes sockets of processes that were killed.
      #
      # @return [Array(UnixAddress, Socket)]
      # @raise [Error, SystemCallError]
      def listen
        prepare
        sweep
        name = Process.pid.to_s
        begin
          address = UnixAddress.new(File.join(@path, name + SUFFIX))
          [address, address.open]
        rescue Errno::EADDRINUSE
          # A process in another container has the same id.
          name = "#{Process.pid}-#{Random.urandom(4).unpack1("H*")}"
          retry
        end
      end

      # @return [Array<String>] the paths of the sockets that are there
      def sockets
        return [] unless private?

        Dir.children(@path).select { |it| it.end_with?(SUFFIX) && !it.start_with?(".") }.sort.map { |it| File.join(@path, it) }
      rescue SystemCallError
        []
      end

      # @param pid [Integer]
      # @return [Array<String>] those of the process with this number
      def sockets_of(pid)
        sockets.select { |it| File.basename(it).b.match?(/\A#{pid}[-.]/) }
      end

      private

      def prepare
        make(@path, 0o700)
        raise Error, "#{@path} is not a private directory of this user, so it can have no control socket (its mode must be 0700)" unless private?
      end

      # Creates the directory and its parents.
      def make(path, mode)
        Dir.mkdir(path, mode)
      rescue Errno::EEXIST
        nil
      rescue Errno::ENOENT
        make(File.dirname(path), 0o777)
        retry
      end

      # Removes sockets without a listener, but not those of processes that are invisible here, because they may be in another
      # container.
      def sweep
        sockets.each do |path|
          pid = Integer(File.basename(path).b[/\A\d+/].to_s, 10, exception: false)
          UnixAddress.remove_left(path) if pid && !there?(pid)
        end
      end

      def there?(pid)
        Process.kill(0, pid)
        true
      rescue Errno::ESRCH, RangeError
        false
      rescue SystemCallError
        true
      end

      # Returns whether the path is a directory that only its owner and root can enter.
      def private?
        stat = File.lstat(@path)
        stat.directory? && stat.uid == @uid && (stat.mode & 0o077).zero?
      rescue SystemCallError
        false
      end
    end
  end
end
