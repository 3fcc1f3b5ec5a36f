# frozen_string_literal: true

# The list of profiles that the middleware shows, after some requests to an app.
module Requests
  # The work of the app.
  class Orders
    def history = query(0.31)
    def query(seconds) = sleep(seconds)
    def export = Array.new(60_000) { |number| "#{number};#{number * 7};paid\n" }.join
    def totals = Array.new(400_000) { |number| number * 31 % 997 }.group_by { |price| price / 100 }.transform_values(&:sum)
    def count = 300_000.times { |number| number.to_s }
  end

  PATHS = { "/orders/7/history" => :history, "/orders/export" => :export, "/totals" => :totals, "/count" => :count }.freeze

  # @param directory [String]
  # @return [String] an HTML file
  def self.list(directory)
    orders = Orders.new
    app = ->(env) { [200, {}, [orders.public_send(PATHS.fetch(env["PATH_INFO"])).to_s]] }
    app = Profiler::Middleware.new(app, permit: ->(_env) { true }, out: File.join(directory, "kept"), mode: %i[cpu wall], slower_than: 0.05)
    get = ->(path, query = "") { app.call("REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query) }
    PATHS.each_key { |path| get[path] }
    get["/orders/export", "profile=allocations"]
    get["/orders/7/history"]
    File.join(directory, "list.html").tap { |file| File.write(file, get["/", "profile=list"][2].join) }
  end
end
