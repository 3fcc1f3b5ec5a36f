# frozen_string_literal: true

# Waits in each of Ruby's ways, on ten threads under a wall clock. Prints how long each wait took, and how many were interrupted.
require_relative "../helpers"
require "timeout"
require "io/wait"

reader, _writer = IO.pipe
lock, changed, asleep = Mutex.new, ConditionVariable.new, Thread.new { sleep }
waits = {
  sleep: -> { sleep 0.3 }, select: -> { IO.select([reader], nil, nil, 0.3) }, join: -> { asleep.join(0.3) },
  mutex: -> { lock.synchronize { lock.sleep(0.3) } }, condition: -> { lock.synchronize { changed.wait(lock, 0.3) } },
  pop: -> { Timeout.timeout(0.3) { Queue.new.pop } rescue nil }, process: -> { Process.wait(spawn("sleep 0.3")) },
  read: -> { IO.popen("sleep 0.3; echo 1", &:read) }, readable: -> { reader.wait_readable(0.3) }, system: -> { system("sleep 0.3") }
}
took = nil
profile = Profiler.run(mode: :wall, interval: 200) do
  threads = waits.transform_values { |wait| Thread.new { since = now; wait.call; now - since } }
  took = threads.transform_values(&:value)
end
print_json([took, profile.stats[:waits_interrupted]])
