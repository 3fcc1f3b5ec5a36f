# frozen_string_literal: true

require "etc"
require "fileutils"
require "open3"
require "shellwords"
require "tmpdir"

# What `profiler record` says first of programs that nobody here wrote, so that a change of the findings can be
# examined: is each line true, and does it lead on?
namespace :check do
  desc "Print the first lines of programs of others, from Debian, beside a busy neighbour and without (ANSWERS=name,name picks)"
  task :answers do
    require_relative "answers/programs"
    picked = ENV["ANSWERS"]&.split(",")
    programs = Answers::PROGRAMS.select { |program| picked.nil? || picked.include?(program.name) }
    abort "check:answers: no such program (there are #{Answers::PROGRAMS.map(&:name).join(", ")})" if programs.empty?
    missing = programs.flat_map(&:packages).uniq.reject { |program| system("dpkg", "-s", program, out: File::NULL, err: File::NULL) }
    sh({ "DEBIAN_FRONTEND" => "noninteractive" }, "apt-get", "install", "-y", "-q", "--no-install-recommends", *missing) if missing.any?
    programs.each { |program| print_answers(program) }
  end
end

# The lines of a finding: those with a share or a note, and their continuations.
FINDINGS = 3..-3

def print_answers(program)
  Dir.mktmpdir("answers-") do |directory|
    prepare(program, directory)
    puts "== #{program.name}: #{program.command}"
    [0, Etc.nprocessors].each do |neighbours|
      busy = Array.new(neighbours) { spawn(RUBY, "-e", "loop { }") }
      puts neighbours.zero? ? "-- on this machine as it is" : "-- beside #{neighbours} busy processes"
      puts first_findings(program, directory)
    ensure
      busy&.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
    end
  end
end

def prepare(program, directory)
  case program.setup
  when Array
    file, text = program.setup
    File.write(File.join(directory, file), text)
  else
    system("sh", "-c", program.setup, chdir: directory, out: File::NULL) || abort("#{program.name}: its preparation failed")
  end
end

# The first three findings.
def first_findings(program, directory)
  command = [RUBY, "#{ROOT}/exe/profiler", "record", "--mode", "cpu,wall", "-o", "a.pb.gz", "--", *Shellwords.split(program.command)]
  _, err, = Open3.capture3(*command, chdir: directory, stdin_data: "")
  lines = err.lines.drop_while { |line| !line.start_with?("[profiler] ") }[FINDINGS] || []
  return err.lines.last(3) if lines.empty?

  heads = lines.slice_when { |_, line| !line.start_with?(" " * 8) || line.match?(/\A {8}(?:nothing|[\d,]+ threads?|few|coarse|ready|loaded)/) }
  heads.first(3).flatten
end
