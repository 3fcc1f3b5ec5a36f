# frozen_string_literal: true

# A profile of requests for users, which collect garbage, and for orders, which are sorted: night.pb.gz.

require "profiler"
require "rack"

OTHERS = Array.new(200_000) { |number| [number] }
USERS = -> { Array.new(5_000) { |number| { name: "user #{number}" } }.size && GC.start }
NUMBERS = Array.new(40_000) { |number| (number * 7_919 % 40_009).to_s }
ORDERS = -> { NUMBERS.sort }
app = Profiler::Middleware.new(lambda do |env|
  env["PATH_INFO"].start_with?("/users") ? USERS.call : ORDERS.call
  [200, {}, ["hello\n"]]
end)
profile = Profiler.run do
  30.times { |number| Rack::MockRequest.new(app).get("/users/#{number}") }
  10.times { Rack::MockRequest.new(app).get("/orders") }
end
profile.save("night.pb.gz")
