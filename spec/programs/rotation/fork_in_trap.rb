# frozen_string_literal: true

# Forks in a trap, in the middle of a rotation. Prints what the rotation raised in the parent and in each child, and how the
# children ended.
require_relative "../helpers"

session = Profiler.start(mode: :allocations, every: 1)
parent, rotating, read, write = Process.pid, false, *IO.pipe
trap("USR1") { (rotating = false) || fork if rotating }
busy = Thread.new { loop { 1_000.times { |number| number + 1 } } } # so that others get turns
number = 0
outcomes = Array.new(6) do |round|
  3_000.times { eval("def new_#{number += 1} = Object.new; new_#{number}") }
  rotating = true
  Thread.new { sleep 0.004 * round; Process.kill(:USR1, parent) }
  here = error { session.rotate(gently: true) }
  rotating = false
  next here if Process.pid == parent

  GC.start
  write.puts(here)
  write.flush
  exit!(0)
end
busy.kill
write.close
statuses = Process.waitall.map { |_pid, status| status.to_s[/(exit|SIG).*/] }
print_json(parent: outcomes, children: read.read.lines(chomp: true), statuses: statuses)
