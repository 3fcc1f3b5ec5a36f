# frozen_string_literal: true

# Uses files on a file system that takes its time and gives up when a signal comes (slow_files.c, preloaded), while another thread
# computes now and then. Prints what the file system counted of the session's time, what the program noticed, and what the profile says.
require "fiddle"
require "json"
require "profiler"

DIRECTORY = ENV.fetch("SLOW_FILES")
MODE = ENV.fetch("MODE").split(",").map(&:to_sym)
OPTIONS = { mode: MODE, engine: ENV["ENGINE"]&.to_sym }.freeze
NAMES = Array.new(8) { |number| "file#{number}.rb" }.freeze
KINDS = %i[open stat readdir read].freeze
ROUNDS = Integer(ENV.fetch("ROUNDS", "25"))
PATHS = NAMES.map { |name| File.join(DIRECTORY, name).freeze }.freeze

def counter(name)
  count = Fiddle::Function.new(Fiddle.dlopen(nil)["slow_files_#{name}"], [Fiddle::TYPE_INT], Fiddle::TYPE_LONG)
  -> { KINDS.each_index.map { |kind| count.call(kind) } }
end

COUNTERS = %i[calls interrupted slept].to_h { |name| [name, counter(name)] }
$errors = Hash.new(0)

def compute
  300.times { |number| number.to_s }
end

def noticed
  compute
  yield
rescue SystemCallError, LoadError => e
  $errors[e.class.name] += 1
end

def lists = noticed { $errors["too few names"] += 1 if (NAMES - Dir.children(DIRECTORY)).any? }
def globs = noticed { $errors["too few names"] += 1 if Dir.glob("#{DIRECTORY}/*.rb").size < NAMES.size }
def stats(path) = noticed { File.stat(path) }
def exists(path) = noticed { File.exist?(path) || $errors["not found"] += 1 }
def reads(path) = noticed { File.read(path) }
def loads(path) = noticed { load(path) }
def follows(path) = noticed { File.realpath(path) }

def round(number)
  lists
  globs
  path = PATHS[number % PATHS.size]
  %i[stats exists reads loads follows].each { |name| send(name, path) }
end

PATHS.each { |path| File.write(path, "1 + 1\n") }
computing = Thread.new { loop { 20.times { compute }.then { sleep 0.0005 } } }
body = -> { ROUNDS.times { |number| round(number) } }
before = COUNTERS.transform_values(&:call)
profile = MODE == [:none] ? body.call && nil : Profiler.run(**OPTIONS, &body)
counted = COUNTERS.to_h { |name, count| [name, KINDS.zip(count.call.zip(before[name]).map { |after, then_| after - then_ }).to_h] }
computing.kill
own = profile ? profile.samples.select { |row| row.thread_name == "main" } : []
puts JSON.generate(**counted, errors: $errors, parts: own.group_by(&:state).transform_values { |rows| rows.sum(&:wall) }, notes: profile&.stats&.slice(:waits_interrupted))
