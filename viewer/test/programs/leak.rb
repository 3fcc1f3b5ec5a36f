# frozen_string_literal: true

# A program that answers requests, keeps too much of each, and collects garbage; its profile goes to the given files.
#
#   ruby -Ilib viewer/test/programs/leak.rb profile.pb.gz profile.html
require "profiler"

Line = Struct.new(:name, :price)

class Cart
  KEPT = []
  def fill(number) = KEPT.concat(Array.new(number) { |it| Line.new("line #{it}", it) })
  def total = Array.new(3_000) { |it| it.to_s.reverse }.sort.size
end

class App
  def call(env)
    cart = Cart.new
    cart.fill(env["PATH_INFO"] == "/fill" ? 400 : 20)
    cart.total
    GC.start(full_mark: env["PATH_INFO"] == "/fill")
    [200, {}, []]
  end
end

app = Profiler::Middleware.new(App.new)
profile = Profiler.run(mode: %i[cpu wall heap], interval: 500, timeline: true, every: 10) do
  30.times do |number|
    path = number % 3 == 0 ? "/fill" : "/look"
    Profiler.marker("GET #{path}") { app.call({ "PATH_INFO" => path, "REQUEST_METHOD" => "GET" })[2].each { nil } }
  end
end
ARGV.each { |path| profile.save(path) }
