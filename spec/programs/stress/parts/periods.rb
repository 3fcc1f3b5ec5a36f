# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../../../support/preloaded"

# Processes with sessions for their whole life, which they disturb in every way, on good disks, slow and full ones. Each process has to
# end in time, and as it would without us. On a good disk it leaves profiles, no temporary files, and says what was lost.
module Stress
  LIFE = File.expand_path("../always_on.rb", __dir__)
  # A write to them is as ever, lasts for an hour, or fails.
  DISKS = { "good" => nil, "dead" => "3600", "full" => "full" }.freeze
  # The five seconds that the end may take, the life itself, and what a busy machine adds.
  LONGEST = 40
  ENDINGS = { "exit" => 0, "exit!" => 0, "exec" => 0, "TERM" => 15, "exception" => 2 }.freeze

  def self.life(directory, disk, ending)
    slow = DISKS.fetch(disk)
    env = slow ? Preloaded.env("slow_disk").merge("SLOW_DISK" => slow) : {}
    errors = "#{directory}/errors"
    pid = spawn(env, RbConfig.ruby, "-I#{$LOAD_PATH.first}", LIFE, directory, ending, rand(1 << 30).to_s, err: errors, out: File::NULL)
    status = nil
    unless wait_for(LONGEST) { sleep(0.02); step; status = Process.wait2(pid, Process::WNOHANG)&.last }
      Process.kill(:KILL, pid)
      Process.wait(pid)
    end
    [status, File.read(errors)]
  end

  def self.check_life(directory, disk, ending, status, errors)
    case_of = "#{ending} on a #{disk} disk, after #{File.read("#{directory}/disturbed").lines.tally rescue "nothing"}: #{status.inspect}\n#{errors}"
    return wrong("a process that does not end", case_of) unless status

    wrong("a process that ended otherwise", case_of) unless [status.exitstatus, status.termsig].include?(ENDINGS.fetch(ending))
    # Ruby's own lines are about the exception that ended the process.
    strange = errors.lines.reject { |line| line.start_with?("[profiler] ") || ending == "exception" && line.match?(/Interrupt|^\tfrom /) }
    wrong("other words on stderr", case_of) if strange.any?
    check_files(directory, errors, case_of) if disk == "good"
  end

  def self.check_files(directory, errors, case_of)
    files = Dir["#{directory}/**/*"].select { |file| File.file?(file) }
    wrong("temporary files that stay", "#{files.grep(/tmp/)} #{case_of}") if files.grep(/\.tmp/).any?
    profiles = files.grep(/\.pb\.gz\z/)
    profiles.each { |file| count(:profiles) if Profiler::Profile.load(file) }
    wrong("no profile, and nothing said", case_of) if profiles.none? && errors.empty?
  rescue Profiler::Error => e
    wrong("a file that cannot be read", "#{e.message} #{case_of}")
  end

  2.times do |number|
    worker("lives #{number}") do
      next sleep(0.1) unless PROFILED

      Dir.mktmpdir("always on") do |directory|
        disk, ending = %w[good good good dead full].sample, ENDINGS.keys.sample
        check_life(directory, disk, ending, *life(directory, disk, ending))
        count(disk.to_sym)
      end
    end
  end
end
