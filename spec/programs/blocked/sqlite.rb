# frozen_string_literal: true

# Writes into a database of SQLite while another process does, too: SQLite waits for the lock in its busy handler, with the GVL. Three
# methods keep account of their time. Prints that beside what the profile says of them, in ns.
require "json"
require "profiler"
require "sqlite3"

FILE = ENV.fetch("FILE")
MODE = ENV.fetch("MODE").split(",").map(&:to_sym)
ROUNDS = Integer(ENV.fetch("ROUNDS", "100"))
OWN = Hash.new { |own, name| own[name] = [0, 0] }

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def connect
  SQLite3::Database.new(FILE).tap do |database|
    database.busy_timeout = 20_000
    database.execute("PRAGMA synchronous = OFF")
  end
end

# The time for which this thread had no CPU, as the kernel counts it.
def run_delay_ns = Integer(File.read("/proc/thread-self/schedstat").split[1])

# Adds the time of the block in which it neither ran nor could have run.
def own(name)
  before = [now, cpu_ns, run_delay_ns]
  yield
  took, used, delay = [now, cpu_ns, run_delay_ns].zip(before).map { |after, since| after - since }
  OWN[name][0] += took - used - delay
  OWN[name][1] += took
end

def begin_writing(database) = own(:begin_writing) { database.execute("BEGIN IMMEDIATE") }
def insert(database) = own(:insert) { 20.times { database.execute("INSERT INTO notes VALUES ('something')") } }
def commit(database) = own(:commit) { database.execute("COMMIT") }

def write(database)
  begin_writing(database)
  insert(database)
  commit(database)
end

def rival
  fork do
    database = connect
    loop do
      database.execute("BEGIN IMMEDIATE")
      sleep rand(0.01..0.06)
      database.execute("COMMIT")
      sleep rand(0.001..0.01)
    end
  end
end

connect.tap { |database| database.execute("CREATE TABLE notes (text)") }.close
pid = rival
database = connect
profile = Profiler.run(mode: MODE, interval: Integer(ENV.fetch("INTERVAL", "1000"))) do
  ROUNDS.times do
    write(database)
    1_000.times { |number| number.to_s }
  end
end
Process.kill(:KILL, pid)
Process.wait(pid)
own = profile.samples.select { |row| row.thread_name == "main" }
seen = OWN.keys.to_h { |name| [name, own.select { |row| row.state == :blocked && row.frames.any? { |frame| frame.method_name == name.to_s } }.sum(&:wall)] }
leaf = own.select { |row| row.state == :blocked }.group_by { |row| row.frames.first.name }.transform_values { |rows| rows.sum(&:wall) }
puts JSON.generate(waited: OWN.transform_values(&:first), took: OWN.transform_values(&:last), blocked: seen, leaf: leaf.max_by(&:last)&.first,
                   parts: own.group_by(&:state).transform_values { |rows| rows.sum(&:wall) })
