# frozen_string_literal: true

# Everything that is known to kill in-process profilers, at once, for STRESS_SECONDS:
#
# * methods and classes that are defined, sampled, removed and collected all the time;
# * GC.compact and auto_compact;
# * threads that work without the GVL, wait all their life, start and exit, are killed and raised at;
# * ticks at 2 kHz on every thread, including waiting ones (Profiler::Testing.hammer);
# * sessions of every mode that start, pause, take snapshots and stop, concurrently and from several threads, with pending
#   ticks; the engine is that of the first of them, so it varies;
# * requests, each with a session;
# * labels on fibers and enumerators, and children that are forked during all of that;
# * objects of every kind, hidden ones, huge strings, finalizers that allocate, and ObjectSpace walked meanwhile;
# * recursion 9,000 deep.
#
# At the end it prints OK and counts; a crash is the other outcome. SEED makes a run repeatable as far as threads can be.
# PROFILED=0 runs the same program without the profiler: the control.
require "fiddle"
require "json"

PROFILED = ENV["PROFILED"] != "0"
SECONDS = Float(ENV.fetch("STRESS_SECONDS", "20"))
THREADS = ENV["THREADS"] != "0"
# At its end a compaction of Ruby 3.1 also reads the slot above each thread's stack, as if an object had to be there. What is left in
# it can point to a page that is gone. So with many threads each compaction is a risk there, also those of auto_compact.
COMPACT = ENV["COMPACT"] != "0" && (RUBY_VERSION >= "3.2" || !THREADS)
FIBERS = ENV["FIBERS"] != "0"
GC_STRESS = ENV["GC_STRESS"] == "1"
# Ruby 3.1.2 dies by itself when heap pages are freed during compactions, and tracking live objects frees many.
FOLLOWS = RUBY_VERSION >= "3.2" || !COMPACT
# Without a session of time, so that thread start and exit are not hooked.
OBJECTS_ALONE = ENV["OBJECTS_ALONE"] == "1"
MODES = [:cpu, :wall, %i[cpu wall], :allocations, %i[cpu allocations], *([:heap, %i[wall heap]] if FOLLOWS)]
        .select { |modes| !OBJECTS_ALONE || (Array(modes) & %i[cpu wall]).empty? }.freeze
# C code that touches Ruby's heap without the GVL (zlib does) is a crash of its own under compaction;
# memset of a block of malloc is not.
MEMSET = Fiddle::Function.new(Fiddle.dlopen(nil)["memset"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T],
                              Fiddle::TYPE_VOIDP)

if PROFILED
  %w[profiler profiler/recording/policy].each { |name| require name }
  Profiler.start(mode: MODES.first).discard
  Profiler::Testing.freeze_at(100) # generations turn over all the time
end
Thread.report_on_exception = false # of those that are killed and raised at before they run
srand(Integer(ENV.fetch("SEED", "42")))
GC.auto_compact = true if COMPACT
$done = false
$requests = $evals = $sessions = $samples = $births = $names = $children = $objects = 0
WATCH = Profiler.const_get(:Recording)::Policy.new(slower_than: 100, out: ->(_result) {}) if PROFILED
FINALIZER = proc { 5.times { "made by a finalizer" * 2 } }

def deep(level)
  level.zero? ? 50.times { |number| number.to_s } : deep(level - 1)
end

def churn
  $evals += 1
  slot = $evals % 50
  Object.class_eval(<<~RUBY, "generation#{$evals}.rb", $evals)
    def churn_#{slot}(depth)
      return 100.times { |number| number.to_s } if depth.zero?
      [depth].each { |it| send(:churn_#{(slot + 1) % 50}, it - 1) if respond_to?(:churn_#{(slot + 1) % 50}, true) }
    end
  RUBY
  send(:"churn_#{slot}", 5)
  Class.new { define_method(:made) { 50.times { "a" * 10 } } }.new.made
  eval("proc { 20.times { [1, 2, 3].map { |it| it.to_s } } }", binding, "eval#{$evals}.rb").call
rescue NoMethodError
  # the next method of the chain is not there yet
end

def until_done
  Thread.new do
    Thread.current.report_on_exception = true
    yield until $done
  end
end

def compact
  GC.compact if COMPACT && (RUBY_VERSION >= "3.2" || rand < 0.05) # even one thread has such a slot
  GC.start(full_mark: rand < 0.5)
end

# The samples add up to the VM's own count. On Ruby 3.4 that also counts what a compaction moves.
def check_objects(profile, after: nil)
  allocated, vm, alive = profile.stats.values_at(:objects, :vm_objects, :live_objects)
  $objects += allocated
  abort "#{allocated} objects, where the VM counted #{vm}" if vm.positive? && (RUBY_VERSION < "3.4" ? allocated != vm : allocated > vm)
  abort "#{alive} objects are alive of #{allocated}" if alive > allocated && !after # those of the profile before live on
end

def objects
  ObjectSpace.define_finalizer(Object.new, FINALIZER)
  huge = "x" * rand(1 << 20)
  [Mutex.new, Queue.new, binding, method(:deep).unbind, Proc.new { huge }, Struct.new(:it).new(1), 2**rand(200), huge.match(/x+/), Complex(1, 2),
   [1, 2].each, Random.new, Time.now, ObjectSpace::WeakMap.new, Thread::ConditionVariable.new, { a: huge }.to_a, huge.to_sym.size, 1.0e300 * 3]
  ObjectSpace.each_object(Module).first(3) if rand < 0.1
  ObjectSpace.count_objects if rand < 0.1
end

def sessions
  2.times { idle } if THREADS
  view = [{}, {}, { threads: :current }, { labels: { request: rand(20) } }].sample
  modes = Array(MODES.sample)
  view[:interval] = [50, 1_000, 10_000].sample if (modes & %i[cpu wall]).any?
  view[:every] = [1, 7, 100, 1_000].sample if (modes & %i[allocations heap]).any?
  session = Profiler::Session.start(mode: modes, timeline: rand < 0.5, **view)
  Profiler::Testing.hammer(500) if view[:interval] # otherwise the signal may have no handler
  block_given? ? yield : sleep(rand * 0.4)
  session.snapshot if rand < 0.2
  rotated = session.rotate if rand < 0.2
  check_objects(rotated) if rotated
  session.pause.resume if rand < 0.2
  return session.discard if rand < 0.1

  profile = session.stop
  $sessions += 1
  $samples += profile.stats[:samples]
  names = profile.samples.flat_map { |sample| sample.frames.map(&:name) }.uniq
  $names += names.size
  strange = names.grep(/0x\h{6,}/)
  abort "an address in a name: #{strange.first(3)}" unless strange.empty?
  check_objects(profile, after: rotated)
  abort "a timeline that is not what the rows are" unless [nil, profile.samples.sum(&:cpu)].include?(profile.timeline&.sum(&:cpu))
end

def fibers
  body = Enumerator.new { |out| loop { churn; out << 1 } }
  fiber = Fiber.new { 3.times { Fiber.yield(body.next) } }
  3.times { fiber.resume }
end

def labelled(&block)
  return yield unless PROFILED

  Profiler.label(request: rand(20), once: rand(6_000), &block)
end

# A request with a session of its own, which leaves resources for the next.
def request
  recording = WATCH.by_chance or return
  $requests += 1
  recording.inside { churn }
  recording.inside { sleep(rand * 0.01) }
  recording.finish
end

# A child continues with the sessions that run here; some children end them, some only end.
def child
  pid = fork do
    $done = true
    20.times { churn }
    Profiler.run { churn } if PROFILED && rand < 0.5
    GC.start
    exit!(0)
  end
  _pid, status = Process.wait2(pid)
  abort "a child died: #{status}" unless status.success?
  $children += 1
end

def hard_work
  GC.stress = GC_STRESS
  (GC_STRESS ? 1 : 300).times do
    churn
    objects
    compact if ($evals % 50).zero? && !GC_STRESS
  end
ensure
  GC.stress = false
end

# Threads that only wait, so that they are found only by listing threads, and end at some time.
IDLE = []
def idle
  IDLE << Thread.new { sleep }
  IDLE.shift.kill if IDLE.size > 5
end

def birth
  $births += 1
  thread = Thread.new do
    50.times { |number| number.to_s }
    Thread.pass
    sleep if rand < 0.2
  end
  case rand(4)
  when 0 then thread.kill
  when 1 then thread.raise("stop")
  end
  thread.join(0.002)
  thread.kill
rescue RuntimeError
  # the exception that we raised in it
end

started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
if THREADS
  2.times { |number| block = Fiddle.malloc(2 << 20); until_done { MEMSET.call(block, number, 2 << 20) } }
  until_done { sleep(0.02); compact }
  until_done { birth; sleep(0.003) }
  until_done { deep(9_000) }
  3.times { until_done { sessions } } if PROFILED
  2.times { until_done { request } } if PROFILED && !OBJECTS_ALONE
  2.times { until_done { labelled { FIBERS ? fibers : churn } } }
  until_done { child; sleep(0.1) }
  until_done { churn }
  until_done { objects }
end
last = 0
while (elapsed = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started) < SECONDS
  churn
  (PROFILED ? sessions { hard_work } : hard_work) unless THREADS
  next if elapsed - last < 60

  last = elapsed
  warn "#{RUBY_VERSION} #{elapsed.to_i} s: evals=#{$evals} sessions=#{$sessions} samples=#{$samples} births=#{$births} gc=#{GC.count}"
end
$done = true
warn "OK #{RUBY_VERSION} #{JSON.generate(seconds: SECONDS, profiled: PROFILED, compact: COMPACT, threads: THREADS, evals: $evals,
                                         sessions: $sessions, samples: $samples, names: $names, births: $births, requests: $requests, children: $children, objects: $objects,
                                         gc: GC.count, compactions: GC.stat(:compact_count) || 0)}"
exit!(0) unless THREADS # nothing to wait for
