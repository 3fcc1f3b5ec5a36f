# frozen_string_literal: true

# A program with threads in a deadlock, at a locked file and at an empty queue. The spec looks at them in a dump.
require_relative "start"

one, other = Mutex.new, Mutex.new
def take(first, second) = first.synchronize { sleep 0.2; second.synchronize { } }

def wait_for_file
  File.open(File.join(ENV.fetch("BOX"), "locked"), "w") { |file| file.flock(File::LOCK_EX) }
end

def wait_for_work(queue) = queue.pop
LOCKED = File.open(File.join(ENV.fetch("BOX"), "locked"), "w") # until the end: a file that is collected has no lock
LOCKED.flock(File::LOCK_EX)
threads = [
  named("one") { take(one, other) },
  named("other") { take(other, one) },
  named("file") { wait_for_file },
  named("queue") { wait_for_work(Queue.new) },
]
sleep 0.4 # longer than two of them sleep themselves
sleep 0.01 until threads.all? { |thread| thread.status == "sleep" }
ready
wait_for_end
exit!(0)
