# frozen_string_literal: true

require "json"
require "socket"
require_relative "../errors"
require_relative "place"

module Profiler
  class Control
    # The other end of a control socket: a process that asks another one.
    class Client
      # Seconds that an answer may take: what Ruby is needed for, and what it is not.
      PATIENCE = 70
      SHORT = 10
      # Requests that are answered without Ruby.
      WITHOUT_RUBY = %w[who dump].freeze
      # Characters that are nothing but harm on a terminal. The process may be another user's.
      CONTROL = /[[:cntrl:]&&[^\n]]/
      private_constant :SHORT, :WITHOUT_RUBY, :CONTROL
      # The longest line of an answer.
      LONGEST = 1 << 20

      # Raised if there is no answer; the message is for people.
      class Failed < Error; end

      class << self
        # A client for each process that can be reached. Sockets that processes left behind are removed.
        #
        # @return [Array<Client>]
        def all
          Place.all.flat_map(&:sockets).uniq.filter_map { |path| reach(path) }
        end

        # @param process [String] a pid, or the path of a socket
        # @return [Client]
        # @raise [Failed]
        def of(process)
          return new(process) if process.include?("/")
          raise Failed, "#{process.inspect} is neither a process id nor the path of a socket" unless process.match?(/\A[1-9]\d{0,9}\z/)

          sockets_of(Integer(process, 10)).filter_map { |path| reach(path) }.first or raise Failed, missing(process)
        end

        # The text with all that a terminal can bear, in lines.
        #
        # @param text [String]
        # @return [String]
        def harmless(text) = text.dup.force_encoding(Encoding::UTF_8).scrub("?").gsub(CONTROL, "?")

        private

        def reach(path)
          new(path)
        rescue Failed
          nil
        end

        # The sockets that a process may have: here, or in the file system of its container.
        def sockets_of(pid)
          here = Place.all.flat_map { |it| it.sockets_of(pid) }
          return here unless here.empty?

          uid = File.stat("/proc/#{pid}").uid
          inner = File.read("/proc/#{pid}/status")[/^NSpid:.*?(\d+)$/, 1] || pid
          Place.of(uid).flat_map { |it| Place.new("/proc/#{pid}/root#{it}", uid).sockets_of(inner) }
        rescue SystemCallError
          []
        end

        def missing(process)
          return "there is no process #{process}" unless there?(process)

          "process #{process} has no control socket here: start it with #{Place::VARIABLE}=1, or by profiler record --control " \
            "(its user is #{user(process)})"
        end

        # Not by /proc, which macOS has not.
        def there?(process)
          Process.kill(0, Integer(process, 10)).positive?
        rescue Errno::EPERM
          true
        rescue Errno::ESRCH, RangeError
          false
        end

        def user(process)
          require "etc"
          Etc.getpwuid(File.stat("/proc/#{process}").uid).name
        rescue SystemCallError, ArgumentError
          "not known"
        end
      end

      # @return [String] the path of the socket
      attr_reader :path

      # @param path [String]
      # @raise [Failed]
      def initialize(path)
        @path = path
        @socket = Socket.unix(path)
      rescue Errno::ECONNREFUSED, Errno::ENOENT
        remove_left
        raise Failed, "nobody listens on #{path}"
      rescue SystemCallError, ArgumentError => e
        raise Failed, "cannot connect to #{path}: #{e.message}"
      end

      # Sends a request, and waits for the answer.
      #
      # @param request [Hash] see docs/live.md
      # @return [Array(Hash, String)] the answer, and the bytes that came with it
      # @raise [Failed] also with the reason that the process has
      def ask(request)
        @socket.write("#{JSON.generate(request)}\n")
        head = JSON.parse(line(WITHOUT_RUBY.include?(request[:do]) ? SHORT : PATIENCE))
        raise Failed, Client.harmless(head["error"].to_s) if head["error"]

        [head, bytes(head.fetch("bytes", 0))]
      rescue SystemCallError, IOError, JSON::ParserError => e
        raise Failed, "no answer from #{@path}: #{e.message}"
      end

      # @return [nil]
      def close
        @socket.close
      end

      private

      # Its process is gone. Another client may do the same.
      def remove_left
        File.unlink(@path) if File.socket?(@path) && File.owned?(@path)
      rescue SystemCallError
        nil
      end

      def line(patience)
        raise Failed, "no answer from #{@path} in #{patience} s: the process may be stopped" unless @socket.wait_readable(patience)

        text = @socket.gets("\n", LONGEST)
        raise Failed, "no answer from #{@path}: the process has gone, or serves too many" unless text&.end_with?("\n")

        text
      end

      def bytes(count)
        text = @socket.read(count) || ""
        raise Failed, "the answer from #{@path} was cut" if text.bytesize < count

        text
      end
    end
  end
end
