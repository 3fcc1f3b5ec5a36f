# frozen_string_literal: true

# Profiles threads with long names, which are killed, end by themselves, or are named from outside. Prints the names that the
# profiles have.
require "profiler"

def burn(seconds)
  till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
  100.times { |it| it.to_s } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
end

session = Profiler.start(mode: :cpu, interval: 500)
worker = proc do |name|
  Thread.new do
    Thread.current.name = name
    burn(0.05)
    Thread.stop
    burn(0.05)
  end
end
ended, killed, short = worker["a worker with a long näme"], worker["a killed thread's long name"], worker["short"]
named = Thread.new { burn(0.02) }
named.name = "named from outside, after its start"
sleep 0.01 until [ended, killed, short].all?(&:stop?)
first = session.rotate
killed.kill.join
[ended, short].each { |it| it.run; it.join }
named.join
names = ->(profile) { profile.by(:thread, limit: 0).map { |it| it[:value][/(.*) \(/, 1] } - ["main"] }
both = Profiler::Profile.merge(first, session.stop)
puts names[both].sort
