# frozen_string_literal: true

# Computes alone, and beside twice as many busy processes as there are CPUs. Prints the states of the thread by its profile,
# beside the clocks.
require_relative "../helpers"
require_relative "shares"
require "etc"

def work(seconds) = (till = now + (seconds * 1e9).to_i; 100.times { |number| number.to_s } while now < till)

def parts
  cpu = -Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  profile = Profiler.run(mode: :wall) { work(0.5) }
  cpu += Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  own = profile.samples.select { |row| row.thread_name == "main" }
  of = ->(*states) { wall(own.select { |row| states.include?(row.state) }) }
  { running: of[:running, :gc], runnable: of[:runnable], delay: profile.stats[:run_delay_ns], cpu: cpu, wall: of[:running, :gc, :runnable],
    work: share(of_state(profile, :runnable), "Object#work"), header: profile.report.split.join(" ")[/, without a CPU/] }
end

alone = parts
# As many busy processes as there are CPUs, all of this one's priority, so this one gets half of what it could have.
busy = Array.new(Etc.nprocessors * 2) { spawn(RbConfig.ruby, "-e", "loop { }") }
sleep 0.2
beside = parts
busy.each { |pid| Process.kill(:KILL, pid); Process.wait(pid) }
print_json([alone, beside])
