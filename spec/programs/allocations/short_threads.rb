# frozen_string_literal: true

# Allocates on threads that begin and end during the session, of which one has a session of time beside it. Prints the number of
# objects by thread and label.
require_relative "../helpers"

Thing = Class.new
def things(number) = number.times { Thing.new }

def work(name)
  Thread.current.name = name
  things(1_000)
  Profiler.label(job: "job #{name}") do
    Fiber.new { things(1_000) }.resume
    things(1_000)
  end
end

session = Profiler.start(mode: :allocations, every: 1)
4.times do |number|
  time = Profiler.start(mode: %i[cpu wall]) if number == 2
  Thread.new { work("t#{number}") }.join
  time&.stop
  GC.start # the thread is no more
end
things = session.stop.samples.select { |it| it.labels["class"] == "Thing" }
counts = things.group_by { |it| [it.thread_name, it.labels["job"]] }.transform_values { |rows| rows.sum(&:alloc_objects) }
print_json(counts.map(&:flatten))
