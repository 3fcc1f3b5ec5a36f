# frozen_string_literal: true

# Profiles many threads with perf in a process of few file descriptors. Prints how many the session took, and how many it left.
#
#   descriptors.rb LIMIT THREADS FREE WANTED      (descriptors, of which FREE of the highest are free; counters to wait for)
require_relative "../helpers"

def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
limit, threads, free, wanted = ARGV.map { |it| Integer(it) }
Process.setrlimit(:NOFILE, limit, limit)
counters = -> { Dir["/proc/self/fd/*"].count { |it| File.readlink(it).include?("perf_event") rescue false } }
before = [File.open("/dev/null")]
before << File.open("/dev/null") until before.last.fileno >= limit - 1 - free
taken = before.size
Array.new(threads) { Thread.new { loop { 300.times { |it| it.to_s }; sleep 0.02 } } }
session = Profiler.start(engine: :perf)
till = cpu + 0.1 # counters come after 5 ms, and timers tick each 4 to 10
300.times { |it| it.to_s } while cpu < till
wait_for { counters.call >= wanted }
sleep 0.4
own = counters.call
files = 0
begin
  loop { before << File.open("/dev/null"); files += 1 }
rescue Errno::EMFILE
  before.each(&:close)
end
profile = session.stop
print_json(own: own, left: limit - taken - own - files, refused: profile.stats[:threads_refused],
           notes: profile.meta[:notes].grep(/few file descriptors/).size, after: counters.call, captured: profile.stats[:captured])
