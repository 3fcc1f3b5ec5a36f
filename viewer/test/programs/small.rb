# frozen_string_literal: true

# A program with threads that compute, sleep, read, wait for the GVL and allocate; its profile goes to the given files.
#
#   ruby -Ilib viewer/test/programs/small.rb profile.pb.gz profile.html
require "profiler"

class Order
  TEXT = "a1 " * 20_000
  def parse(depth) = depth.zero? ? TEXT.scan(/a\d/).size : parse(depth - 1)
  def total = Array.new(200) { |number| "#{number}:#{parse(0) if number.zero?}" }.sort_by(&:reverse).size
end

class Mailer
  def deliver = sleep(0.02)
  def read = IO.popen("sleep 0.02; echo 1", &:read)
end

def serve(number)
  Profiler.label(endpoint: "orders##{number.odd? ? "show" : "index"}") do
    Profiler.marker("request #{number}") { Order.new.parse(number % 4); Order.new.total }
  end
end

profile = Profiler.run(mode: %i[cpu wall allocations], interval: 500, timeline: true, every: 10) do
  queue = Queue.new
  idle = Thread.new { queue.pop }
  threads = Array.new(3) { |it| Thread.new { Thread.current.name = "worker #{it}"; 8.times { |number| serve(number); Mailer.new.deliver } } }
  4.times { Mailer.new.read; GC.start }
  threads.each(&:join)
  queue.push(1)
  idle.join
end
ARGV.each { |path| profile.save(path) }
