# frozen_string_literal: true

# A listener for pprof, and clients that speak HTTP to it. Needs the helpers.
require "socket"

TOKEN = "a token that nobody guesses"
def listen(address = "127.0.0.1:0", token: TOKEN, **options) = Profiler::Pprof.listen(address, token: token, **options)
def connect(address) = address.include?("/") ? UNIXSocket.new(address) : TCPSocket.new("127.0.0.1", address[/\d+\z/])

# All that comes back.
def send_raw(address, bytes)
  socket = connect(address)
  socket.write(bytes)
  socket.read
rescue Errno::ECONNRESET, Errno::EPIPE
  "reset"
ensure
  socket&.close
end
def head(path, *lines, method: "GET") = ["#{method} #{path} HTTP/1.1", "Host: localhost", *lines, "", ""].join("\r\n")
def get(address, path, *lines, method: "GET") = send_raw(address, head(path, "Authorization: Bearer #{TOKEN}", *lines, method: method))
def status(response) = response[/\AHTTP\/1\.1 (\d+)/, 1]&.to_i || response
def own_threads = Thread.list.grep(Profiler.const_get(:BackgroundThread)).size
def sessions = Profiler.metrics[:profiler_sessions]
