# frozen_string_literal: true

require "etc"
require "fileutils"
require "tmpdir"

# A command of a {JobQueue}.
#
# +seconds+ is what it takes, as far as that is known; the longest begin first. +summary+ picks the lines of its output that are shown
# when it passed; of a job that failed, all are.
Job = Struct.new(:name, :command, :env, :seconds, :summary, keyword_init: true) do
  attr_accessor :output, :passed, :began, :took
end

# Runs commands in several processes at once, and says how far it is. Each slot of the queue has a directory for temporary files and a
# range of ports of its own, so commands do not meet.
class JobQueue
  SLOTS = Etc.nprocessors * 2 # half of the time a job waits for something
  PORTS = 10_000 # the first; each slot has a thousand, below those that the system assigns
  EVERY = 20 # seconds between two lines of progress

  # @param jobs [Array<Job>]
  # @param slots [Integer] how many run at once
  # @param what [String] their name in the lines of progress
  # @param more [Numeric] seconds that come after them, for the time that remains
  def initialize(jobs, slots: SLOTS, what: "jobs", more: 0, output: $stdout)
    @waiting = jobs.sort_by { |job| -job.seconds }
    @jobs = jobs
    @slots = slots
    @what = what
    @more = more
    @output = output
    @running = {}
  end

  # Runs all of them, even if one fails.
  #
  # @yieldparam job [Job] one that has ended
  # @return [Array<Job>] those that failed
  def run(&ended)
    Dir.mktmpdir("jobs") do |directory|
      @directory = directory
      File.chmod(0o755, directory) # programs of other users run in specs
      @began = @told = now
      until @waiting.empty? && @running.empty?
        start(@waiting.shift) until @waiting.empty? || @running.size == @slots
        finish(*Process.wait2(-1, Process::WNOHANG), &ended)
        tell if now - @told > EVERY
        sleep 0.02
      end
    ensure
      @running.each_key { |pid| Process.kill(:KILL, -pid) }
    end
    @jobs.reject(&:passed)
  end

  private

  def start(job)
    slot = (@slots.times.to_a - @running.values.map(&:last)).first
    temporary = FileUtils.mkdir_p(File.join(@directory, slot.to_s)).first
    job.output = File.join(@directory, "#{@jobs.index(job)}.log")
    job.began = now
    env = { "TMPDIR" => temporary, "SPEC_PORTS" => (PORTS + (slot * 1_000)).to_s }.merge(job.env || {})
    pid = Process.spawn(env, *job.command, in: File::NULL, %i[out err] => [job.output, "w"], pgroup: true)
    @running[pid] = [job, slot]
  end

  def finish(pid = nil, status = nil)
    job, = @running.delete(pid)
    return unless job

    job.took = now - job.began
    job.passed = status.success?
    job.output = File.read(job.output, encoding: Encoding::UTF_8).scrub
    yield job if block_given?
  end

  # Describes the progress. The estimate for the remaining jobs is scaled by how long the finished ones took, compared with their estimates.
  def tell
    @told = now
    ended = @jobs.select(&:took)
    known = ended.sum(&:seconds)
    scale = known.zero? ? 1 : (ended.sum(&:took) / known).clamp(0.3, 3)
    left = (@waiting + @running.values.map(&:first)).sum { |job| [(job.seconds * scale) - (job.began ? now - job.began : 0), 0].max }
    left = (left / [@slots, Etc.nprocessors].min) + (@more * scale)
    failed = ended.reject(&:passed).size
    @output.puts format("  %3d s: %d of %d %s%s, about %d:%02d left", now - @began, ended.size, @jobs.size, @what,
                        failed.zero? ? "" : " (#{failed} failed)", *left.round.divmod(60))
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
