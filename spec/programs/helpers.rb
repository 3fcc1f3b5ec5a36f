# frozen_string_literal: true

# Methods for programs under test: to use CPU time, to read clocks, and to print results. Specs look at what the programs print.
require "json"
require "profiler"

# Uses CPU time.
def burn(milliseconds = 60)
  till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) + milliseconds
  10.times { |number| number.to_s } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) < till
end

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

# Runs for a while by the wall clock, whatever else runs.
def spin(milliseconds)
  till = now + (milliseconds * 1_000_000)
  20.times { |number| number.to_s } while now < till
end

# Returns the CPU time of this thread in ns, and what a block takes of it.
def cpu_now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
def cpu_of(before = cpu_now) = yield.then { cpu_now - before }

# Burns CPU time in pieces: if the machine stands still, that counts as CPU time of one piece, and the others still run.
def burn_in_pieces(milliseconds) = (milliseconds / 20).times { burn(20) }

# Waits until the block is true, but not for ever.
def wait_for(till = now + 20_000_000_000)
  sleep 0.01 until (value = yield) || now > till
  value
end

# Returns "Class: message" of what the block raises, or "none".
def error = yield.then { "none" } rescue "#{$!.class}: #{$!.message}"

# Returns the samples of a method, and of all that it calls.
def samples_in(profile, name) = profile.samples.select { |row| row.frames.any? { |frame| name === frame.name } }

# Counts the allocated objects of a class.
def objects_of(profile, name) = profile.samples.select { |row| row.labels["class"] == name }.sum(&:alloc_objects)

# Waits until no session runs: that of watched requests ends after a second without one. Returns the number that still do.
def open_sessions
  wait_for { !Profiler.running? }
  ObjectSpace.each_object(Profiler::Session).count(&:running?)
end

# Returns the value of the block in a child.
def in_fork
  reader, writer = IO.pipe
  pid = fork { writer << JSON.generate(yield); exit!(0) }
  writer.close
  JSON.parse(reader.read).tap { Process.wait(pid) }
end

# Prints the result of a program.
def print_json(values) = puts(JSON.generate(values))
