# frozen_string_literal: true

# Raises 100 exceptions at the main thread while its code is renewed, and kills the thread that renews it at each 20th. Prints
# which exceptions arrived, and how many handles are left.
require_relative "../helpers"
require_relative "templates"

handles
session = Profiler.start(mode: :allocations, every: 1)
got = []
arrived = Class.new(Exception)
main = Thread.current
sender = Thread.new do
  100.times do |number| # each waits for a time slice
    main.raise(arrived, number.to_s)
    wait_for { got.size > number }
    (Thread.list - [main, Thread.current]).each(&:kill) if number % 20 == 19
  end
end
work = lambda do
  20.times { eval(TEMPLATE, TOPLEVEL_BINDING.dup, "template.erb") }
  GC.start(full_mark: false)
  10.times { |number| number.to_s }
end
Thread.handle_interrupt(arrived => :never) do
  while sender.alive?
    begin
      Thread.handle_interrupt(arrived => :immediate) { work.call }
    rescue arrived => e
      got << e.message.to_i
    end
  end
end
settle
print_json(got: got, kept: handles, unknown: names(session.stop).grep(/unknown/))
