# frozen_string_literal: true

require "etc"
require "fileutils"
require "open3"
require "shellwords"
require "tmpdir"

# What `profiler record` says first of programs that nobody here wrote, so that a change of the findings can be
# examined: is each line true, and does it lead on? The profiles stay in tmp/answers, where a changed rule can read
# them again.
namespace :check do
  desc "Print the first lines of programs of others, from Debian, beside a busy neighbour and without (ANSWERS=name,name picks; ANSWERS_PEER=1 adds what stackprof saw)"
  task :answers do
    programs = picked_programs
    programs -= lacking_in_debian(programs)
    install_packages(programs.flat_map(&:packages) + (ENV["ANSWERS_PEER"] ? %w[ruby-stackprof] : []))
    programs.each do |program|
      record_program(program)
      print_peer(program) if ENV["ANSWERS_PEER"]
    end
  end

  desc "Print the first lines of the profiles of the last check:answers, without running the programs"
  task "answers:again" do
    picked_programs.each do |program|
      puts "== #{program.name}: #{program.command}"
      [0, Etc.nprocessors].each { |neighbours| print_answer(program, neighbours) }
    end
  end
end

ANSWERS = "#{ROOT}/tmp/answers/#{RUBY_VERSION}"

def picked_programs
  require_relative "answers/programs"
  picked = ENV["ANSWERS"]&.split(",")
  programs = Answers::PROGRAMS.select { |program| picked.nil? || picked.include?(program.name) }
  abort "check:answers: no such program (there are #{Answers::PROGRAMS.map(&:name).join(", ")})" if programs.empty?
  programs
end

def installed?(package)
  system("dpkg", "-s", package, out: File::NULL, err: File::NULL)
end

# Prints and returns the programs whose packages this Debian does not have.
def lacking_in_debian(programs)
  programs.select do |program|
    absent = program.packages.reject { |package| installed?(package) || system("apt-cache", "show", package, %i[out err] => File::NULL) }
    puts "== #{program.name}: skipped, as this Debian has no #{absent.join(", ")}" if absent.any?
    absent.any?
  end
end

def install_packages(packages)
  missing = packages.uniq.reject { |package| installed?(package) }
  sh({ "DEBIAN_FRONTEND" => "noninteractive" }, "apt-get", "install", "-y", "-q", "--no-install-recommends", *missing) if missing.any?
end

def record_program(program)
  puts "== #{program.name}: #{program.command}"
  [0, Etc.nprocessors].each do |neighbours|
    busy = Array.new(neighbours) { spawn(RUBY, "-e", "loop { }") }
    Dir.mktmpdir("answers-") { |directory| record_answer(program, directory, answer_file(program, neighbours)) }
    print_answer(program, neighbours)
  ensure
    busy&.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
  end
end

def answer_file(program, neighbours)
  "#{ANSWERS}/#{program.name.gsub(/\W+/, "_")}#{".busy" if neighbours.positive?}.pb.gz"
end

def record_answer(program, directory, file)
  prepare(program, directory)
  FileUtils.mkdir_p(ANSWERS)
  FileUtils.rm_f(file)
  mode = ENV["ANSWERS_MODE"] ? ["--mode", ENV["ANSWERS_MODE"]] : []
  command = [RUBY, "#{ROOT}/exe/profiler", "record", *mode, "-o", file, "--", *Shellwords.split(program.command)]
  _, err, status = Open3.capture3(*command, chdir: directory, stdin_data: "")
  return if status.success? || status.exitstatus == 143 # a server that its client ended

  own = err.lines.take_while { |line| !line.start_with?("[profiler]") }
  puts "(#{status.exitstatus ? "exit status #{status.exitstatus}" : status}) #{own.first(2).join.strip}"
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

# Runs the program once more, under stackprof, and prints the rows of the process with most samples.
def print_peer(program)
  puts "-- what stackprof saw of the main thread"
  Dir.mktmpdir("answers-") do |directory|
    Dir.mkdir(found = "#{directory}/.peer")
    prepare(program, directory)
    Open3.capture3({ "RUBYOPT" => "-r#{ROOT}/rakelib/answers/stackprof", "ANSWERS_PEER" => found },
                   "sh", "-c", program.command, chdir: directory, stdin_data: "")
    largest = Dir.children(found).max
    puts largest ? File.read("#{found}/#{largest}") : "(nothing)"
  end
end

# Prints the first three findings.
def print_answer(program, neighbours)
  puts neighbours.zero? ? "-- on this machine as it is" : "-- beside #{neighbours} busy processes"
  out, status = Open3.capture2e(RUBY, "#{ROOT}/exe/profiler", "report", answer_file(program, neighbours), "--limit", "1")
  lines = out.lines.take_while { |line| line != "\n" }
  heads = lines.slice_when { |_, line| !continues?(line) }.to_a
  puts status.success? ? heads.first(3).flatten : out
  $stdout.flush
end

# Whether the line of a finding belongs to the one before.
def continues?(line)
  line.start_with?(" " * 8) && !line.match?(/\A {8}(?:nothing|[\d,]+ threads?|few|coarse|ready|loaded|used)/)
end
