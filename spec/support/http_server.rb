# frozen_string_literal: true

require "socket"
require_relative "server"

# A server of HTTP/1.1 on threads of the spec's own process, which can be made to fail.
#
#   HttpServer.open(->(request) { [200, { "Content-Type" => "text/plain" }, request.body] }) do |server|
#     server.plan 503, [429, { "Retry-After" => "1" }], :cut_request, :cut_reply, [:slow, 2], :hang
#     server.refusing { ... }
#   end
#
# Each planned item is for one request, in the order in which they come:
#
# Integer, or Array of it, headers and a body:: this status; the handler does not get the request
# +:cut_request+:: the connection is closed after half of the body; the handler does not get the request
# +:cut_reply+:: the handler gets the request; the connection is closed within the first line of the reply
# +[:slow, seconds]+:: the handler gets the request after that time
# +:hang+:: there is no answer, until the client closes the connection
# +[:refuse, seconds]+:: the connection is closed, and others are refused for that time
# +nil+:: no fault
class HttpServer
  # +status+ is what was answered, nil if nothing was. Names of +headers+ are in lower case.
  Request = Struct.new(:verb, :path, :query, :headers, :body, :fault, :status)

  NO_FAULT = ->(_request) {}

  attr_reader :port
  # @return [#call] the fault of each request for which none is planned
  attr_accessor :always

  # Starts one, which ends with the block. Parameters are those of {#initialize}.
  def self.open(*arguments, **options)
    server = new(*arguments, **options)
    yield server
  ensure
    server&.stop
  end

  # @param handler [#call] gets a {Request}, on a thread of its own; returns a status, headers and a body
  def initialize(handler = ->(_request) { [200, {}, ""] })
    @handler = handler
    @port = Server.free_port
    @lock = Mutex.new
    @requests = []
    @planned = []
    @sockets = {}
    @always = NO_FAULT
    listen
  end

  def url = "http://127.0.0.1:#{port}"

  # @return [Array<Request>] all so far, in the order in which they came
  def requests = @lock.synchronize { @requests.dup }

  # Adds faults of the next requests.
  def plan(*faults)
    @lock.synchronize { @planned.concat(faults) }
  end

  # Like a server that was killed, and is started again after the block, on the same port.
  def refusing
    close
    yield
  ensure
    listen
  end

  # Ends it, and all its connections.
  #
  # @raise [StandardError] what a handler raised
  def stop
    close
    raise @error if @error
  end

  private

  def listen
    @listener = TCPServer.new("127.0.0.1", port)
    @acceptor = Thread.new(@listener) do |listener|
      loop { connected(listener.accept) }
    rescue IOError, SystemCallError
      nil # closed
    end
  end

  def connected(socket)
    @lock.synchronize do
      @sockets[socket] = Thread.new do
        serve(socket)
      rescue IOError, SystemCallError
        nil # the client went away
      rescue StandardError => e
        @error ||= e
      ensure
        @lock.synchronize { @sockets.delete(socket) }
        socket.close
      end
    end
  end

  def close
    stop_listening
    @lock.synchronize { @sockets.values }.each(&:kill).each(&:join)
    stop_listening # one of these threads may have started it again
  end

  def stop_listening
    @listener.close
    @acceptor.join
  end

  def refuse_for(seconds, socket)
    stop_listening
    socket.close
    sleep(seconds)
    listen
  end

  def serve(socket)
    while (request = read_head(socket))
      raise ArgumentError, "a body without its length" if request.headers["transfer-encoding"]

      request.fault = next_fault(request)
      size = request.headers["content-length"].to_i
      size /= 2 if request.fault == :cut_request
      size = 0 if request.fault.is_a?(Array) && request.fault.first == :refuse
      request.body = socket.read(size).to_s
      raise EOFError if request.body.bytesize < size

      @lock.synchronize { @requests << request }
      answer(socket, request) || break
      break if request.headers["connection"] == "close"
    end
  end

  def read_head(socket)
    verb, target = socket.gets("\r\n")&.split
    return unless target

    headers = {}
    while (line = socket.gets("\r\n", chomp: true)) && !line.empty?
      name, value = line.split(":", 2)
      headers[name.downcase] = value.strip
    end
    path, query = target.split("?", 2)
    Request.new(verb, path, query, headers)
  end

  def next_fault(request)
    @lock.synchronize { @planned.empty? ? [] : [@planned.shift] }.fetch(0) { @always.call(request) }
  end

  # @return [Boolean] whether the connection stays open
  def answer(socket, request)
    case request.fault
    in :cut_request then false
    in :hang then socket.read(1) && false
    in [:refuse, seconds] then refuse_for(seconds, socket) && false
    in Integer | [Integer, *] then reply(socket, request, *request.fault)
    in :cut_reply then reply(socket, request, *handled(request), cut: true)
    in [:slow, seconds] then sleep(seconds) && reply(socket, request, *handled(request))
    in nil then reply(socket, request, *handled(request))
    end
  end

  def handled(request)
    @handler.call(request)
  rescue StandardError => e
    @error ||= e
    [500, {}, e.message]
  end

  def reply(socket, request, status, headers = {}, body = "", cut: false)
    head = headers.merge("Content-Length" => body.bytesize).map { |name, value| "#{name}: #{value}\r\n" }.join
    text = "HTTP/1.1 #{status} -\r\n#{head}\r\n".b + body.b
    request.status = status unless cut
    socket.write(cut ? text.byteslice(0, 10) : text)
    !cut
  end
end
