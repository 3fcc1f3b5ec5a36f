# frozen_string_literal: true

# Sets labels on threads and fibers that come and go, while GC.compact moves them. Prints how often a label was read, and how often
# it was a wrong one.
require_relative "../helpers"

GC.auto_compact = true
answers = Queue.new
Profiler.run(interval: 50) do
  Array.new(4) do |worker|
    Thread.new do
      300.times do |turn|
        mine = "#{worker}.#{turn}"
        Profiler.label(request: mine) do
          fiber = Fiber.new { 3.times { Fiber.yield Profiler.labels[:request] } }
          3.times { answers << (fiber.resume == mine) }
          Thread.new { answers << Profiler.labels.empty? }.join if turn % 50 == 0
        end
        answers << Profiler.labels.empty?
        GC.compact if turn % 100 == worker
      end
    end
  end.each(&:join)
end
print_json(asked: answers.size, wrong: Array.new(answers.size) { answers.pop }.count(false))
