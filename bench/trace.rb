# frozen_string_literal: true

# Measures the CPU time that a trace adds to a call of an empty method, beside a TracePoint whose block does nothing, and what the
# call takes when the trace is over. Then what `calls: true` adds to the calls that run inside of the traced one, to all others, and
# to those that come after it. At last what code that only computes takes before, during and after a trace, which with a JIT
# (RUBYOPT=--yjit) says whether it is compiled. Contenders take turns in one process; each figure is that of the fastest turn, as
# other processes can only make a call slower. BENCH_PAIRS is the number of turns.
$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "fileutils"
require "profiler"
begin
  require "ruby-prof"
rescue LoadError
  nil # its rows are left out
end

module Bench
  # A traced method, and the ways to trace it.
  module Trace
    CALLS = 2_000
    TURNS = Integer(ENV.fetch("BENCH_PAIRS", "60"))
    OPTIONS = {
      "counted and timed" => {}, "`when: \"ms > 1\"`" => { when: "ms > 1" }, "`when: \"id == 2\"`" => { when: "id == 2" }, "`args: true`" => { args: true },
      "`args: true, returns: true`, two values shown" => { args: true, returns: true, show: %w[id result] }, "`lines: true`" => { lines: true, when: "id == 2" }
    }.freeze

    # The traced method is on three lines, so that it has one to follow.
    class Order
      def save(id)
        id
      end
    end

    # Code that only computes. `idle` is never called.
    class Work
      DEPTH = 18
      CALLS = 8_361

      def fibonacci(number) = number < 2 ? number : fibonacci(number - 1) + fibonacci(number - 2)

      def idle = nil
    end

    KINDS = {
      "the method itself" => [Work.instance_method(:fibonacci), {}], "another method" => [Work.instance_method(:idle), {}],
      "a C function" => ["Array#sort", {}], "another method, `calls: true`" => [Work.instance_method(:idle), { calls: true }]
    }.freeze

    module_function

    # The ns of CPU time of one call.
    def turn(order = Order.new)
      before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
      CALLS.times { order.save(1) }
      (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - before).fdiv(CALLS)
    end

    def traced(options)
      took = nil
      Profiler.trace(Order.instance_method(:save), max_overhead: 1, **options) { took = turn }
      took
    end

    def with_tracepoint
      TracePoint.new(:call, :return) { |_event| nil }.enable(target: Order.instance_method(:save)) { turn }
    end

    def contenders
      { "nothing" => -> { turn }, "a TracePoint with an empty block" => -> { with_tracepoint }, **OPTIONS.transform_values { |options| -> { traced(options) } } }
    end

    # The traced method of `calls: true`. Its calls are those of a turn.
    class Batch
      def run = Trace.turn

      def idle = nil
    end

    def with_ruby_prof(&block) = RubyProf::Profile.new.profile(&block)

    # What `calls: true` adds to a call, by where that is.
    def calls_report
      best = Hash.new(Float::INFINITY)
      keep = ->(name, ns) { best[name] = [best[name], ns].min }
      TURNS.times { keep.call("before", turn) }
      batch = Batch.new
      options = { max_overhead: 1, calls: true }
      TURNS.times do
        Profiler.trace(Batch.instance_method(:run), **options) { keep.call("inside of the traced call", batch.run) }
        Profiler.trace(Batch.instance_method(:idle), **options) { keep.call("anywhere else", turn) }
        keep.call("after the trace", turn)
      end
      TURNS.times { with_ruby_prof { keep.call("ruby-prof, everywhere", turn) } } if defined?(RubyProf)
      plain = best.delete("before")
      rows = best.map { |name, ns| "| #{name} | #{(ns - plain).round(1)} | #{(ns / plain).round(1)} |" }
      ["ns of CPU that a trace with `calls: true` adds to another call, of #{plain.round(1)} ns, and the ratio of both", "", "| | ns | ratio |", "| --- | --- | --- |", *rows]
    end

    # The ns of CPU time of one call of `fibonacci`.
    def work(of = Work.new)
      Array.new(TURNS) do
        before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
        of.fibonacci(Work::DEPTH)
        (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - before).fdiv(Work::CALLS)
      end.min
    end

    # Before, during and after a trace, in a process of its own: Ruby does not undo what it does for some hooks.
    def beside(method, options)
      IO.popen("-") do |child|
        next Marshal.load(child) if child # rubocop:disable Security/MarshalLoad -- of our own process

        Profiler.trace(Work.instance_method(:idle)) { nil } # loads the code
        during = nil
        before = work
        Profiler.trace(method, max_overhead: 1, **options) { during = work }
        $stdout.write(Marshal.dump([before, during, work]))
        $stdout.flush
        exit!(0)
      end
    end

    def work_report
      rows = KINDS.map { |name, (method, options)| "| #{name} | #{beside(method, options).map { |ns| ns.round(1) }.join(" | ")} |" }
      ["ns of CPU of a call of a method that only computes, #{RUBY_DESCRIPTION}", "", "| traced is | before | during | after |", "| --- | --- | --- | --- |", *rows]
    end

    def report
      best = Hash.new(Float::INFINITY)
      TURNS.times { contenders.to_a.shuffle.each { |name, run| best[name] = [best[name], run.call].min } }
      after = Array.new(TURNS) { turn }.min
      plain = best.delete("nothing")
      rows = (contenders.keys - ["nothing"]).map { |name| "| #{name} | #{(best[name] - plain).round} |" }
      ["ns of CPU that a trace adds to a call, Ruby #{RUBY_VERSION}; the call takes #{plain.round} ns, and #{after.round} ns when the traces are over", "", "| | ns |", "| --- | --- |", *rows]
    end
  end
end

if $PROGRAM_NAME == __FILE__
  others = Bench::Trace.work_report # first, as the other reports leave their hooks' places in the code
  report = "#{[*Bench::Trace.report, "", *Bench::Trace.calls_report, "", *others].join("\n")}\n"
  directory = File.expand_path("../tmp/bench", __dir__)
  FileUtils.mkdir_p(directory)
  File.write(File.join(directory, "trace.md"), report)
  puts report
end
