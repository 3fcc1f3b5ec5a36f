# frozen_string_literal: true

# Machine stacks at their end, in Ruby and in C, on main, threads and fibers, while ticks come every 50 us.
#
# Sessions of objects are left out. With any hook on allocation (ObjectSpace.trace_object_allocations too), Ruby holds the VM's
# lock while it allocates. A stack that ends there is left by a jump, after which Ruby waits for ever to release a lock.
#
# A tick there must not end the process, and must leave the thread as it was: a SIGPROF that stays blocked ends all later ticks.
module Stress
  TIMED = MODES.reject { |modes| (Array(modes) & %i[allocations heap]).any? }.freeze
  DEPTH = 100_000
  NESTED = DEPTH.times.inject([]) { |inner, _number| [inner] }
  LINKED = Struct.new(:next)
  CHAIN = DEPTH.times.inject(nil) { |inner, _number| LINKED.new(inner) }

  def self.recurse(level = 0) = recurse(level + 1) + 1

  def self.recurse_by_blocks(level = 0) = [level].each { |number| recurse_by_blocks(number + 1) }

  def self.recurse_by_format(level = 0)
    named = Object.new
    named.define_singleton_method(:to_s) { Stress.recurse_by_format(level + 1) }
    "#{named} #{level}"
  end

  # Calls +call+ at every level of a recursion that uses the machine stack, from +from+ on.
  def self.call_from(from, call, level = 0)
    call.call if level >= from
    [level].each { |number| @deepest = number; call_from(from, call, number + 1) }
  end

  # The same, only on the last levels of this stack.
  def self.call_at_the_end(call)
    begin
      call_from(Float::INFINITY, call)
    rescue SystemStackError
      nil
    end
    call_from(@deepest - rand(5..60), call)
  end

  # Only on threads, whose machine stack ends before that of the VM. At the end of the latter Ruby 3.1 dies by itself, of the
  # keywords of any method: they overwrite the caller's frame before it checks for space.
  OURS = PROFILED && TIMED.any? ? {
    "labels at the end" => -> { call_at_the_end(-> { Profiler.label(deep: rand(100)) { Profiler.labels } }) },
    "sessions at the end" => -> { call_at_the_end(-> { Profiler::Session.start(**view(TIMED.sample)).discard }) },
    "results at the end" => -> { call_at_the_end(-> { Profiler.run(**view(TIMED.sample)) { work(2) }.samples }) },
    "files at the end" => -> { (@result ||= Profiler.run(mode: :cpu) { work(2_000) }) && call_at_the_end(-> { @result.to_pprof }) }
  } : {}

  ENDS = {
    "Marshal.dump" => -> { Marshal.dump(NESTED) },
    "Marshal.dump of structs" => -> { Marshal.dump(CHAIN) },
    "inspect" => -> { NESTED.inspect },
    "hash" => -> { NESTED.hash },
    "compare" => -> { NESTED == [NESTED] },
    "recursion" => -> { recurse },
    "recursion by blocks" => -> { recurse_by_blocks },
    "recursion by methods of C" => -> { recurse_by_format },
    "sort" => -> { [NESTED, [NESTED]].sort }
  }.reject { |name, _call| RUBY_VERSION.start_with?("3.3") && name.start_with?("Marshal") }.freeze # Ruby 3.3 aborts there, without a profiler too

  def self.reach_the_end(ends = ENDS)
    name, call = ends.to_a.sample
    begin
      call.call
    rescue SystemStackError
      count(:stack_errors)
    end
    count(name)
    check_signals(name)
  end

  # No thread blocks SIGPROF, except the profiler's own.
  def self.check_signals(name)
    status = File.read("/proc/thread-self/status")
    blocked = status[/^SigBlk:\s*(\h+)/, 1].to_i(16)
    wrong("a blocked SIGPROF", "after #{name} on #{Thread.current.inspect}") if blocked[Signal.list["PROF"] - 1] == 1
  end

  worker("the end of a thread's stack") do
    Thread.new { reach_the_end(rand < 0.5 ? ENDS : ENDS.merge(OURS)) }.join
  end
  worker("the end of a fiber's stack") do
    Fiber.new { reach_the_end }.resume
  end
  worker("collections at the end of stacks") do
    GC.start(full_mark: false)
    sleep(0.01)
  end
  worker("sessions over stacks") do
    next sleep(0.1) if !PROFILED || TIMED.empty?

    session = Profiler::Session.start(mode: TIMED.sample, interval: 50, depth: [128, 2_048, 10_000].sample)
    sleep(rand * 0.5)
    session.stop
    count(:sessions)
  end
  on_main { reach_the_end }
end
