# frozen_string_literal: true

# A program that asks a database for each line of an order; its profile goes to the given files. Markers are those of Rails.
#
#   ruby -Ilib viewer/test/programs/queries.rb profile.pb.gz profile.html
require "profiler"

class Database
  def exec(statement) = Profiler.marker("SQL #{statement}") { sleep(0.0005) && statement.unpack("C*").sum }
end

class Order
  def initialize(database) = @database = database
  def find = @database.exec("Order Load: SELECT * FROM orders WHERE id = ?")
  def lines = Array.new(40) { price }
  def price = @database.exec("Price Load: SELECT * FROM prices WHERE line_id = ?")
end

profile = Profiler.run(mode: %i[cpu wall], interval: 500, timeline: true) do
  order = Order.new(Database.new)
  12.times { Profiler.label(endpoint: "orders#show") { Profiler.marker("GET /orders/1") { order.find && order.lines } } }
end
ARGV.each { |path| profile.save(path) }
