# frozen_string_literal: true

# A week of an always-on session in some minutes: it is rotated again and again, while code is evaluated, redefined and reloaded,
# and classes, threads, labels and other sessions come and go. Prints a row for each part of it, and fails if anything grows.
#
#   ruby -Ilib spec/programs/rotation/week.rb 60000 timeline
require "profiler"
require "erb"
require "fileutils"
require "objspace"
require "tmpdir"

# The app: what happens between two rotations.
class Churn
  TEMPLATES = Array.new(20) { |number| "<% 40.times do |it| %><%= it * #{number} %> <% end %>" }

  def initialize(directory)
    @directory = directory
    @round = 0
    @loader = loader
  end

  # Code of every kind that is gone by the next rounds. Names and paths come again, as an app's own do: new Symbols would be the
  # app's growth, and not ours.
  def call
    @round += 1
    template
    redefine
    anonymous
    reload if @loader && (@round % 20).zero?
    Thread.new { work }.join
    Profiler.label(request: @round % 3_000, endpoint: "page#{@round % 7}") { work }
    other_sessions if (@round % 10).zero?
    Process.wait(fork { exit!(0) }) if (@round % 500).zero?
  end

  private

  def work = 60.times { |number| number.to_s.hash }

  def template
    ERB.new(TEMPLATES[@round % TEMPLATES.size]).tap { |built| built.filename = "page#{@round % 50}.erb" }.result
  end

  def redefine
    self.class.class_eval("def action#{@round % 30}; 30.times { |it| it.to_s }; end", "actions.rb", @round % 100 + 1)
    public_send("action#{@round % 30}")
  end

  def anonymous
    Class.new { define_method(:run) { 30.times { |number| number.to_s } } }.new.run
  end

  # Classes as Rails reloads them.
  def reload
    File.write(File.join(@directory, "page.rb"), "class Page\n#{"\n" * (@round % 40)}def show = 50.times { |it| it.to_s }\nend\n")
    @loader.reload
    Object.const_get(:Page).new.show
  end

  def loader
    require "zeitwerk"
    File.write(File.join(@directory, "page.rb"), "class Page; end")
    Zeitwerk::Loader.new.tap do |built|
      built.push_dir(@directory)
      built.enable_reloading
      built.setup
    end
  rescue LoadError
    nil
  end

  def other_sessions
    Profiler.run(mode: :cpu, interval: 500) { work }
    session = Profiler.start(mode: :wall, labels: { endpoint: "page1" })
    Profiler.label(endpoint: "page1") { work }
    session.stop
    Profiler::Session.start(interval: 300).discard
  end
end

# Readings that must not grow.
module Readings
  class << self
    def now
      GC.start
      GC.start
      { rss_kb: Integer(File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1]), threads: Dir.children("/proc/self/task").size,
        descriptors: Dir.children("/proc/self/fd").size, iseqs: ObjectSpace.count_imemo_objects[:imemo_iseq],
        classes: ObjectSpace.each_object(Class).count }
    end
  end
end

def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

rotations = Integer(ARGV.fetch(0, "60000"))
part = [rotations / 10, 1_000].min
rows = []
Dir.mktmpdir("week") do |directory|
  churn = Churn.new(directory)
  session = Profiler::Session.start(mode: %i[cpu wall], interval: 300, timeline: ARGV[1] == "timeline")
  before = cpu_ns
  sum = samples = 0
  slowest = 0
  rotations.times do |number|
    churn.call
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    profile = session.rotate
    slowest = [slowest, Process.clock_gettime(Process::CLOCK_MONOTONIC) - began].max
    samples += profile.stats[:samples]
    sum += profile.samples.sum { |row| row.thread_name == "main" ? row.cpu : 0 }
    next unless ((number + 1) % part).zero?

    rows << Readings.now
    puts "#{number + 1} rotations, #{samples} samples: #{rows.last.map { |name, value| "#{name} #{value}" }.join(", ")}, slowest #{(slowest * 1e3).round(1)} ms"
    slowest = 0
  end
  last = session.stop
  spent = cpu_ns - before
  sum += last.samples.sum { |row| row.thread_name == "main" ? row.cpu : 0 }
  puts format("CPU of the main thread: %.6f s, in the profiles %.6f s", spent / 1e9, sum / 1e9)

  first = rows.first
  allowed = { rss_kb: 4_096, threads: 1, descriptors: 0, iseqs: 1_000, classes: 20 }
  grown = allowed.select { |name, more| rows.last[name] > first[name] + more }.keys
  grown << :cpu if (spent - sum).abs > 0.002 * spent + 5_000_000
  abort "grown: #{grown.map { |name| "#{name} from #{first[name]} to #{rows.last[name]}" }.join(", ")}" if grown.any?
end
