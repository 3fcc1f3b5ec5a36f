# frozen_string_literal: true

require "json"

# The frame in which the parts of the stress program run: workers, counts, what went wrong, and the checks at the end.
module Stress
  SECONDS = Float(ENV.fetch("STRESS_SECONDS", "20"))
  PROFILED = ENV["PROFILED"] != "0"
  HANG = Integer(ENV.fetch("STRESS_HANG", "20"))
  MODE = ENV.fetch("STRESS_MODE", "all")
  SEED = Integer(ENV.fetch("SEED", "42"))
  MODES = {
    "cpu" => [:cpu], "wall" => [:wall, %i[cpu wall]], "objects" => [:allocations, :allocations, :heap],
    "all" => [:cpu, :wall, %i[cpu wall], :allocations, %i[cpu allocations], %i[wall heap]]
  }.fetch(MODE)

  %w[profiler profiler/middleware profiler/recording/policy].each { |name| require name } if PROFILED

  @workers = {}
  @counts = Hash.new(0)
  @wrong = Hash.new(0)
  @done = false
  @main = @at_end = nil
  @checks = []
  @lock = Mutex.new

  class << self
    # @return [Boolean] the time is over
    attr_reader :done

    # Runs the block again and again on a thread of its own. Each return of the block, and each {step}, is progress.
    def worker(name, &block)
      @workers[name] = { block: block, steps: 0, seen: -1, silent: 0 }
    end

    # The same on the main thread, for what signals hit.
    def on_main(&block)
      @main = block
    end

    # Runs once all workers have ended.
    def check_at_end(&block)
      @checks << block
    end

    def count(name, by = 1)
      @lock.synchronize { @counts[name] += by }
    end

    # Notes a failure and continues, so that one run shows all kinds of them.
    def wrong(kind, detail)
      number = @lock.synchronize { @wrong[kind] += 1 }
      STDERR.write("WRONG #{kind}: #{detail}\n") if number <= 3
    end

    # Progress within a long block.
    def step
      worker = Thread.current.thread_variable_get(:stress_worker)
      worker[:steps] += 1 if worker
    end

    def view(modes = MODES.sample)
      view = { mode: modes }
      view[:interval] = [50, 200, 1_000].sample if (Array(modes) & %i[cpu wall]).any?
      view[:every] = [1, 10, 1_000].sample if (Array(modes) & %i[allocations heap]).any?
      view
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # Some work that shows in every mode.
    def work(rounds = 200)
      rounds.times { |number| [number.to_s, number.fdiv(3)].hash }
    end

    # Waits until the block is true, in turns of this thread.
    #
    # @return [Object, nil] what the block said; nil if it did not come true
    def wait_for(seconds)
      till = now + seconds
      until (value = yield)
        return if now > till

        sleep(0.002)
      end
      value
    end

    def main(title)
      srand(SEED)
      Thread.report_on_exception = false
      turn_over if PROFILED
      hammer if PROFILED && MODE != "objects"
      @beats = IO.for_fd(Integer(ENV.fetch("STRESS_BEATS")), autoclose: false)
      @pid, @told = Process.pid, now
      threads = @workers.map { |name, worker| [name, Thread.new { run_worker(name, worker) }] }
      beat
      began = now
      @main ? (@main.call until now - began > SECONDS) : sleep(SECONDS)
      @done = true
      threads.each { |name, thread| ended(name, thread) }
      @checks.each(&:call)
      leave_nothing if PROFILED
      report(title)
      exit(1) unless @wrong.empty?
    end

    private

    # Freezes generations all the time, or as ever. That takes a first session.
    def turn_over
      Profiler.start(mode: MODES.first).discard
      Profiler::Testing.freeze_at(30) if SEED.even?
    end

    # Ticks at worse instants than any timer finds. The first session of time has a handler installed, which stays.
    def hammer
      Profiler.run(mode: :cpu) { work }
      Profiler::Testing.hammer(500) unless ENV["STRESS_HAMMER"] == "0"
    end

    def run_worker(name, worker)
      Thread.current.thread_variable_set(:stress_worker, worker)
      until @done
        worker[:block].call
        worker[:steps] += 1
        tell if now - @told > 0.05
      end
    rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it was, it does not belong here
      wrong("an exception that ended the worker #{name}", "#{e.class}: #{e.message}\n#{e.backtrace&.first(12)&.join("\n")}")
    end

    # A worker ends after the step that it is in: that of a whole process takes up to 40 s.
    def ended(name, thread)
      return if wait_for(HANG * 3) { !thread.alive? }

      hang("the worker #{name} did not end", [thread])
    end

    # Tells the watcher outside that Ruby threads get turns, and looks after the workers. With a hundred threads that compute, the
    # turn of a single one comes too rarely, so workers tell it too.
    def beat
      Thread.new do
        Thread.current.name = "beat"
        loop do
          tell
          sleep(0.1)
          look_after_workers unless @done
        end
      end
    end

    def tell
      return unless Process.pid == @pid

      @told = now
      @beats.write_nonblock(".", exception: false)
    rescue Errno::EPIPE
      exit!(1) # the watcher is gone
    end

    def look_after_workers
      @workers.each do |name, worker|
        steps = worker[:steps]
        worker[:silent] = steps == worker[:seen] ? worker[:silent] + 1 : 0
        worker[:seen] = steps
        hang("the worker #{name} made no step for #{HANG} s", Thread.list) if worker[:silent] > HANG * 10
      end
    end

    def hang(what, threads)
      stacks = threads.map { |thread| "#{thread.inspect}\n  #{thread.backtrace&.first(15)&.join("\n  ")}" }
      STDERR.write("HANG #{what}\n#{stacks.join("\n")}\n")
      report("hang")
      exit!(1)
    end

    # No session without an owner, no label, no blocked signal; and the next session is right.
    def leave_nothing
      Profiler::Testing.hammer(0)
      while (session, = Profiler::Session.instance_variable_get(:@running).first)
        wrong("a held session that is over", session.inspect) unless session.running? || session.unclaimed?
        session.discard
        count(:held)
      end
      left = nil
      none = wait_for(3) { collect; (left = Profiler::Testing.sessions).zero? }
      wrong("leaked sessions", "#{left} run that no object owns") unless none
      wrong("labels that were left", Profiler.labels.inspect) unless Profiler.labels.empty?
      check_next_session if none
    end

    def collect
      deep = ->(level) { level.zero? ? nil : deep.call(level - 1) }
      deep.call(200) # what old frames left on this stack
      GC.start
    end

    # The profile of the only working thread is its CPU clock.
    def check_next_session
      return if RUBY_VERSION < "3.2" && @counts[:ractors].positive? # no objects, and the rest is checked where there are none

      clock = -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) }
      before = clock.call
      profile = Profiler.run(mode: :cpu, threads: :current, interval: 1_000) { work(200) while clock.call - before < 50_000_000 }
      used = clock.call - before
      seen = profile.samples.sum(&:cpu)
      wrong("a last session that is wrong", "#{seen} ns of #{used}") unless (used - seen).abs < 20_000_000
      wrong("a last session without samples", profile.stats.inspect) if profile.stats[:captured] < 3
    end

    def report(title)
      counts = @counts.sort_by { |name, _count| name.to_s }.to_h
      line = JSON.generate({ part: title, mode: MODE, profiled: PROFILED, seconds: SECONDS, **counts, gc: GC.count, wrong: @wrong })
      STDERR.write("#{@wrong.empty? && title != "hang" ? "OK" : "BAD"} #{RUBY_VERSION} #{line}\n")
    end
  end

  at_exit { Profiler::Testing.hammer(0) if PROFILED && defined?(Profiler::Testing) }
end
