# frozen_string_literal: true

# A shop on Puma, profiled for two seconds of wall clock time while customers ask it things: shop.rb OUT (.pb.gz; - for stdout).
# Needs Puma and Rack, and Ruby 3.3 for what waits for the GVL.

require "profiler"
require "puma"
require "puma/server"
require "rack"
require "socket"

THREADS = 3
SECONDS = 2

# In another process: answers each line after as many seconds as it says.
class Database
  def initialize
    @server = TCPServer.new("127.0.0.1", 0)
    @pid = fork do
      loop { Thread.new(@server.accept) { |client| client.each_line { |line| sleep(Float(line)) && client.puts("done") } } }
    end
  end

  def query(seconds)
    connection = (Thread.current[:connection] ||= TCPSocket.new("127.0.0.1", @server.addr[1]))
    connection.puts(seconds)
    connection.gets
  end

  def stop = Process.kill(:KILL, @pid)
end

class Catalog
  def initialize
    @products = Array.new(1_500) { |it| { name: "product #{it * 7_919 % 1_500}", price: it * 31 % 997 } }
  end

  def names = @products.map { |it| it[:name] }

  def search(text)
    @products.select { |it| it[:name].include?(text) }.sort_by { |it| [it[:price], it[:name]] }
  end
end

class Page
  def render(products)
    products.map { |it| "<li class='product'><b>#{it[:name].capitalize}</b> <i>#{price(it)}</i></li>" }.join("\n")
  end

  def price(product) = format("%.2f", product[:price] / 100.0)
end

# Rebuilds an index again and again, and releases the GVL only between two of them.
class Indexer
  def initialize(catalog)
    @catalog = catalog
  end

  def run = loop { rebuild && sleep(0.4) }

  def rebuild = Array.new(40) { @catalog.names.join(" ").scan(/\w+/).tally }.last
end

class Shop
  attr_reader :catalog

  def initialize(database)
    @database = database
    @catalog = Catalog.new
  end

  def call(env)
    path = env["PATH_INFO"]
    body = Profiler.label(endpoint: path) { Profiler.marker("GET #{path}") { path == "/order" ? order : browse } }
    [200, { "content-type" => "text/html" }, [body]]
  end

  def browse
    Array.new(3) { |it| Page.new.render(@catalog.search(it.to_s)) }.join
  end

  def order
    @database.query(0.03)
    Page.new.render(@catalog.search("14"))
  end
end

# In another process too: each requests a page, reads it for a while, and requests another.
def customers(port)
  fork do
    Array.new(THREADS) do |place|
      Thread.new do
        random = Random.new(place)
        loop do
          TCPSocket.open("127.0.0.1", port) do |socket|
            socket.write("GET /#{random.rand(3).zero? ? "browse" : "order"} HTTP/1.0\r\n\r\n")
            socket.read
          end
          sleep(random.rand(0.03))
        end
      end
    end.each(&:join)
  end
end

database = Database.new
quiet = Puma::Events.respond_to?(:null) ? Puma::Events.null : nil
shop = Shop.new(database)
server = Puma::Server.new(shop, quiet, { min_threads: THREADS, max_threads: THREADS })
port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
server.run
Thread.new { Indexer.new(shop.catalog).run }.name = "indexer"
visitors = customers(port)
sleep 0.5
$PROGRAM_NAME = "puma shop"
profile = Profiler.run(mode: %i[cpu wall], timeline: true, trim_path: true) { Queue.new.pop(timeout: SECONDS) }
Process.kill(:KILL, visitors)
database.stop
ARGV[0] == "-" ? $stdout.binmode.write(profile.to_pprof) : profile.save(ARGV.fetch(0))
exit! 0
