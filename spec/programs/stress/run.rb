# frozen_string_literal: true

# Runs parts of the stress program in a child process, and watches it from outside.
#
#   ruby -Ilib spec/programs/stress/run.rb PART...     (all: every part that can share a process)
#
# STRESS_SECONDS=20, STRESS_MODE=cpu|wall|objects|all, SEED=42, PROFILED=0 for the control without the profiler.
#
# The child reports each tenth of a second that Ruby threads still get turns. If it stops, the GVL is stuck: the
# watcher prints every native stack and kills the child. Time is counted in the watcher's own turns, so a machine
# that stands still looks like no time at all.

PARTS = Dir["#{__dir__}/parts/*.rb"].map { |file| File.basename(file, ".rb") }.sort
# Parts that run in a process of their own. The others cannot bear the limits of a process or Ractors; forked children cannot bear
# traps that raise. Beside sessions of objects, a stack at its end stops Ruby for ever: the part says why.
ALONE = %w[deep_stacks limits ractor_births ractors signals].freeze

names = ARGV == ["all"] ? PARTS - ALONE : ARGV
unknown = names - PARTS
abort "stress: no part #{unknown.join(", ")} (allowed: all, #{PARTS.join(", ")})" if names.empty? || unknown.any?

if ENV["STRESS_BEATS"]
  require_relative "harness"
  names.each { |name| require_relative "parts/#{name}" }
  Stress.main(names.join("+"))
  return
end

# With STRESS_LIB, another build of the extension; with STRESS_PRELOAD, a library that it needs before Ruby; with
# STRESS_WRAPPER, a program that runs the child's Ruby.
LIB = ENV.fetch("STRESS_LIB", File.expand_path("../../../lib", __dir__))
CHILD_ENV = { "LD_PRELOAD" => ENV["STRESS_PRELOAD"] }.compact.freeze
WRAPPER = ENV["STRESS_WRAPPER"].to_s.split.freeze

TURN = 0.1
HANG = Integer(ENV.fetch("STRESS_HANG", "20"))

def native_stacks(pid)
  gdb = system("gdb", "--version", out: File::NULL, err: File::NULL)
  return system("gdb", "-p", pid.to_s, "-batch", "-ex", "thread apply all bt 40", out: :err, err: File::NULL) if gdb

  Dir["/proc/#{pid}/task/*"].each do |task|
    warn "#{File.basename(task)} #{%w[comm wchan syscall].map { |name| File.read("#{task}/#{name}").strip rescue "?" }.join(" ")}"
  end
end

beats, beats_of_child = IO.pipe
pid = spawn(CHILD_ENV.merge("STRESS_BEATS" => beats_of_child.fileno.to_s), *WRAPPER, RbConfig.ruby, "-I#{LIB}", __FILE__, *names, beats_of_child => beats_of_child, pgroup: true)
beats_of_child.close
%w[INT TERM].each { |signal| trap(signal) { Process.kill(:KILL, -pid) } }
silent = 0
status = nil
until (status = Process.wait2(pid, Process::WNOHANG)&.last)
  sleep(TURN)
  beat = beats.read_nonblock(4_096, exception: false)
  silent = beat.is_a?(String) ? 0 : silent + 1
  next if silent < HANG / TURN

  warn "HANG #{names.join("+")}: no Ruby thread got a turn for #{HANG} s"
  native_stacks(pid)
  Process.kill(:KILL, -pid)
  silent = 0
end
begin
  Process.kill(:KILL, -pid) # grandchildren that were left
rescue Errno::ESRCH
  nil
end
abort "FAILED #{names.join("+")} on #{RUBY_VERSION}: #{status}" unless status.success?
