# frozen_string_literal: true

# A profile of an order that waits for its bank.

require "net/http"
require "socket"

BANK = TCPServer.new("127.0.0.1", 0)
Thread.new do
  client = BANK.accept
  client.gets("\r\n\r\n")
  sleep 0.3
  client.write("HTTP/1.0 200 OK\r\n\r\n")
  client.close
end

eval(<<~RUBY, binding, "/srv/app/models/order.rb", 40) # rubocop:disable Style/EvalWithLocation -- that of the document
  class Order
    def total = Net::HTTP.get(URI("http://127.0.0.1:\#{BANK.addr[1]}/"))
  end
RUBY

def profile
  Profiler.run(mode: %i[cpu wall]) { Order.new.total }
end
