# frozen_string_literal: true

# Interrupts rotations until one is left halfway, then forks. Prints the objects that the child's rotation has, and those of the
# parent's session.
require_relative "../helpers"

Kept = Class.new
rotating = false
trap("USR1") { (rotating = false) || raise("interrupted") if rotating } # once
# Signals arrive in the middle of a call, where another thread would have to wait for its turn.
pid = Process.pid
helper = fork { loop { sleep(rand * 0.003); Process.kill(:USR1, pid) } }
session = Profiler.start(mode: :allocations, every: 1)
5.times { Kept.new }
begin
  number = 0
  loop do
    # New methods have to be named in each call, which takes time.
    200.times { eval("def new_#{number += 1} = Object.new; new_#{number}") }
    rotating = true
    session.rotate { rotating = false; raise IOError }
  rescue IOError
    retry
  end
rescue RuntimeError
  rotating = false
  Process.kill(:KILL, helper)
  Process.wait(helper)
  child = in_fork { Kept.new; objects_of(session.rotate, "Kept") }
  Kept.new
  print_json([child, objects_of(session.stop, "Kept")])
end
