# frozen_string_literal: true

# Profiles a thread in one session after the other, with and without a session of another thread. Prints the timers that are left,
# and whether each session has its CPU time.
require_relative "../helpers"

# Counts the timers of this process that send SIGPROF, without those of the wall clock.
def timers
  File.read("/proc/self/timers").split(/^(?=ID:)/).count do |timer|
    timer.match?(/^signal: #{Signal.list["PROF"]}\//) && !timer.match?(/^ClockID: 1$/)
  end
end

def session = Profiler::Session.start(interval: 10_000, threads: :current, engine: :thread_timer)

def request
  profile = nil
  used = cpu_of { profile = session.tap { burn_in_pieces(120) }.stop }
  burn(15) # no session profiles this
  [timers, profile.samples.sum(&:cpu).between?(100_000_000, used + 1_000_000), profile.stats[:captured]]
end

ready, go = Queue.new, Queue.new
other = Thread.new { session.tap { ready << true; go.pop }.stop }
ready.pop
requests = Array.new(3) { request }
go << true
other.join
alone = request
session.pause
print_json([requests, alone, timers])
