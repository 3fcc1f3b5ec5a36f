# frozen_string_literal: true

require "io/wait"
require "json"
require "socket"
require_relative "../errors"
require_relative "../option_fault"
require_relative "../process/losses"
require_relative "../process/user"
require_relative "place"

module Profiler
  class Control
    # The client of a control socket. The other process may belong to another user and send anything, slowly or endlessly. So
    # each response has a deadline and a size limit, and its fields are checked.
    class Client
      # The timeouts of requests that need Ruby and of those that do not, in seconds.
      PATIENCE = 70
      SHORT = 10
      # The timeout of each process in a list of all processes, in seconds.
      LISTING = 3
      # Requests that are answered without Ruby.
      WITHOUT_RUBY = %w[who dump].freeze
      # The fields that a response must have, by request.
      PARTS = { "who" => { "pid" => Integer, "program" => String, "ruby" => String, "threads" => Integer }, "start" => { "session" => Integer },
                "sessions" => { "sessions" => Array } }.freeze
      # The maximum sizes of a response's first line, of the body that follows it, and of an error that is shown.
      MAX_LINE_BYTES = 1 << 20
      MAX_BODY_BYTES = 1 << 30
      MAX_ERROR_CHARS = 1_000
      # The number of bytes to read at once.
      PIECE = 1 << 18
      # The number of processes to query at the same time.
      TOGETHER = 64
      private_constant :SHORT, :WITHOUT_RUBY, :PARTS, :MAX_LINE_BYTES, :MAX_BODY_BYTES, :MAX_ERROR_CHARS, :PIECE, :TOGETHER

      # Raised if there is no valid response. The message is meant for the user.
      class Failed < Error
        # @return [String, nil] the message in terms of the command line, if the process has refused an option
        attr_accessor :on_command_line
      end

      # Raised if there is no response in time.
      class Silent < Failed; end

      # Raised if the process has closed the connection.
      class Gone < Failed; end

      class << self
        # Queries all reachable processes, up to 64 at a time. Removes sockets of processes that have ended.
        #
        # @param request [Hash]
        # @return [Array(Array<Array(String, Hash)>, Array<String>)] the sockets with their responses, and those without a
        #   response
        def ask_all(request)
          asked = Place.all.flat_map(&:sockets).uniq.each_slice(TOGETHER).flat_map do |paths|
            paths.map { |path| Thread.new { [path, answer_of(path, request)] } }.map(&:value)
          end
          silent, answered = asked.partition { |_, answer| answer == :silent }
          [answered.select { |_, answer| answer }, silent.map(&:first)]
        end

        # @param process [String] a pid, or the path of a socket
        # @param remedy [String, nil] what to do if it has no socket
        # @return [Client]
        # @raise [Failed]
        def of(process, remedy: nil)
          return new(process) if process.include?("/")
          raise Failed, "#{process.inspect} is neither a process id nor the path of a socket" unless process.match?(/\A[1-9]\d{0,9}\z/)

          sockets_of(Integer(process, 10)).filter_map { |path| reach(path) }.first or raise Failed, missing(process, remedy)
        end

        # Returns the text with its lines, but without characters that control a terminal. It may come from another user.
        #
        # @param text [String]
        # @return [String]
        def harmless(text) = text.b.split("\n", -1).map { |line| Losses.harmless(line) }.join("\n")

        private

        def reach(path)
          new(path)
        rescue Failed
          nil
        end

        # @return [Hash, nil, Symbol] nil if no process or no profiler is there; +:silent+ if there is no reply in time
        def answer_of(path, request)
          client = new(path)
          client.ask(request, LISTING).first
        rescue Silent
          :silent
        rescue Failed
          nil
        ensure
          client&.close
        end

        # Returns the possible sockets of a process: here, and in the file system of its container.
        def sockets_of(pid)
          here = Place.all.flat_map { |it| it.sockets_of(pid) }
          return here unless here.empty?

          uid = File.stat("/proc/#{pid}").uid
          inner = File.read("/proc/#{pid}/status", encoding: Encoding::BINARY)[/^NSpid:.*?(\d+)$/, 1] || pid
          Place.of(uid).flat_map { |it| Place.new("/proc/#{pid}/root#{it}", uid).sockets_of(inner) }
        rescue SystemCallError
          []
        end

        def missing(process, remedy)
          return "there is no process #{process}" unless there?(process)

          no_socket = "process #{process} has no control socket here"
          if ProcessUser.another?(process)
            return "#{no_socket} that this user can see, as it belongs to #{ProcessUser.of(process)}: run this command as #{ProcessUser.and_root(process)}"
          end

          "#{no_socket}: #{remedy || how_to_open(process)}"
        end

        def how_to_open(process)
          "start it with #{Place::VARIABLE}=1, or by profiler record --control (its user is #{ProcessUser.of(process)}). " \
            "Or pass --attach, or run profiler attach #{process}: it then loads the profiler as it runs (experimental)"
        end

        # Does not use /proc, which macOS does not have.
        def there?(process)
          Process.kill(0, Integer(process, 10)).positive?
        rescue Errno::EPERM
          true
        rescue Errno::ESRCH, RangeError
          false
        end
      end

      # @return [String] the path of the socket
      attr_reader :path

      # @param path [String]
      # @raise [Failed]
      def initialize(path)
        @path = path
        @read = String.new(encoding: Encoding::BINARY)
        @socket = Socket.new(:UNIX, :STREAM)
        # A blocking connect would wait forever if no process accepts.
        @socket.connect_nonblock(Addrinfo.unix(path))
        connected = true
      rescue Errno::ECONNREFUSED, Errno::ENOENT
        remove_left
        raise Failed, "no process is listening on #{path}"
      rescue Errno::EAGAIN # it is not in progress: the queue is full
        raise Silent, "no answer from #{path}: the process does not accept connections"
      rescue SystemCallError, ArgumentError => e
        raise Failed, "cannot connect to #{path}: #{e.message}"
      ensure
        @socket&.close unless connected
      end

      # Sends a request, and waits for the response.
      #
      # @param request [Hash] see docs/live.md
      # @param patience [Numeric] seconds until the whole answer has to be there
      # @return [Array(Hash, String)] the answer, and the bytes that came with it
      # @raise [Failed] also with the reason that the process has
      def ask(request, patience = WITHOUT_RUBY.include?(request[:do]) ? SHORT : PATIENCE)
        answer(patience, PARTS.fetch(request[:do], {})) { send("#{JSON.generate(request)}\n".b) }
      end

      # Receives the answer that a process sends by itself as it ends, see {#gone_within?}.
      #
      # @return [Array(Hash, String), nil] nil if there is none, as the process was killed
      # @raise [Failed]
      def farewell
        answer(SHORT, {})
      rescue Gone
        nil
      end

      # Waits until the process ends or sends something by itself, or the timeout expires.
      #
      # @param seconds [Numeric, nil] nil for ever
      # @param interrupt [IO, nil] ends the wait as it becomes readable
      # @return [Boolean] whether the process has gone
      def gone_within?(seconds, interrupt = nil)
        readable, = IO.select([@socket, interrupt].compact, nil, nil, seconds)
        readable ? readable.include?(@socket) : false
      end

      # @return [nil]
      def close
        @socket.close
      end

      private

      # Receives an answer to what the block sends. If the process has just ended, it receives no more, but it may have sent something.
      def answer(patience, parts)
        @patience = patience
        @till = now + patience
        begin
          yield if block_given?
        rescue Errno::EPIPE
          nil
        end
        head = checked(JSON.parse(line), parts)
        [head, bytes(head.fetch("bytes", 0))]
      rescue SystemCallError, IOError, JSON::ParserError, EncodingError => e
        kind = e.is_a?(Errno::ECONNRESET) ? Gone : Failed
        raise kind, "no answer from #{@path}: #{Client.harmless(e.message)[0, MAX_ERROR_CHARS]}"
      end

      # Removes the socket of a process that has ended. Another client may be doing the same.
      def remove_left
        File.unlink(@path) if File.socket?(@path) && File.owned?(@path)
      rescue SystemCallError
        nil
      end

      # @return [Hash] the response
      def checked(head, parts)
        raise Failed, "no answer from #{@path}: it is not a control socket of profiler" unless head.is_a?(Hash)
        raise refusal(head) if head["error"]

        wrong, = parts.find { |name, kind| !head[name].is_a?(kind) }
        raise Failed, "the answer from #{@path} has no #{wrong}" if wrong

        head
      end

      def refusal(head)
        fault = OptionFault.parse(head["fault"])
        Failed.new(shown(head["error"].to_s)).tap { |it| it.on_command_line = shown(fault.on_command_line) if fault }
      end

      def shown(text) = Client.harmless(text)[0, MAX_ERROR_CHARS]

      def send(bytes)
        until bytes.empty?
          written = @socket.write_nonblock(bytes, exception: false)
          written == :wait_writable ? wait { |left| @socket.wait_writable(left) } : bytes = bytes.byteslice(written..-1)
        end
      end

      def line
        until (size = @read.index("\n"))
          raise Failed, "the answer from #{@path} is too long" if @read.bytesize > MAX_LINE_BYTES

          fill or raise Gone, "no answer from #{@path}: the process has ended, or has too many connections"
        end
        @read.slice!(0..size).force_encoding(Encoding::UTF_8).scrub("?")
      end

      def bytes(count)
        raise Failed, "the answer from #{@path} has no size" unless count.is_a?(Integer) && count.between?(0, MAX_BODY_BYTES)

        while @read.bytesize < count
          fill or raise Failed, "the answer from #{@path} was cut short"
        end
        @read.slice!(0, count)
      end

      # Reads the bytes that have arrived, or waits for some. Returns nil at the end of the stream.
      def fill
        loop do
          part = @socket.read_nonblock(PIECE, exception: false)
          return part && @read << part unless part == :wait_readable

          wait { |left| @socket.wait_readable(left) }
        end
      end

      def wait
        left = @till - now
        return if left.positive? && yield(left)

        raise Silent, "no answer from #{@path} in #{@patience} s: the process may be stopped"
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
