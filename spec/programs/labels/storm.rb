# frozen_string_literal: true

# Requests in every form that fibers and threads allow, all at once, under a fine session. Checks,
# CHECKS times, that the labels that are current are those of the request that runs, and at the end that
# every sample taken inside a request has its label and no other. Prints the number of checks.
require "profiler"

CHECKS = Integer(ENV.fetch("CHECKS", "100000"))

# The smallest scheduler that sleeps: enough to have many requests on one thread take turns.
class Scheduler
  def initialize
    @sleeping = {}
    @ready = []
  end

  def fiber(&block)
    Fiber.new(blocking: false, &block).tap(&:resume)
  end

  def kernel_sleep(seconds = nil)
    @sleeping[Fiber.current] = now + seconds.to_f
    Fiber.yield
  end

  def block(_blocker, timeout = nil)
    @sleeping[Fiber.current] = now + (timeout || 0.001)
    Fiber.yield
    true
  end

  def unblock(_blocker, fiber)
    @ready << fiber
  end

  def io_wait(_io, events, _timeout)
    Fiber.yield if @sleeping[Fiber.current] = now
    events
  end

  def close
    until @sleeping.empty? && @ready.empty?
      due = @sleeping.select { |_fiber, at| at <= now }.keys + @ready
      @ready = []
      due.each { |fiber| @sleeping.delete(fiber) }
      sleep(0.0001) if due.empty? && Fiber.current.blocking?
      due.uniq.each { |fiber| fiber.resume if fiber.alive? }
    end
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# A request with a method of its own, so that its stack identifies it. `pause` lets others run.
class Request
  @wrong = []
  @checks = Hash.new(0)
  class << self
    attr_reader :wrong, :checks

    def check(number)
      checks[Thread.current] += 1
      got = Profiler.labels[:request]
      wrong << [number, got] unless got == number&.to_s
    end
  end

  def initialize(number)
    @number = number
  end

  def run(rounds, &pause)
    Profiler.label(request: @number) { send(:"request_#{@number % 50}", rounds, pause) }
    Request.check(nil) if @number.even? # a request leaves nothing behind, even if no other one ran on its fiber
  end

  50.times do |number|
    class_eval("def request_#{number}(rounds, pause) = serve(rounds, pause)", __FILE__, __LINE__)
  end

  private

  def serve(rounds, pause)
    body = Enumerator.new { |out| rounds.times { |turn| Request.check(@number); out << turn.to_s * 20; Request.check(@number) } }
    rounds.times do
      Request.check(@number)
      body.next # a streaming body: a fiber of its own, made under the labels
      pause&.call
      Request.check(@number)
      Profiler.label(step: 1) { Request.check(@number) }
      Fiber.new { Request.check(@number) }.resume
    end
  end
end

counter = Enumerator.produce(1) { |number| (number % 1_500) + 1 } # as many sets as are kept apart
numbers = Queue.new
feeder = Thread.new { loop { numbers.size < 100 ? 100.times { numbers << counter.next } : sleep(0.001) } }
enough = -> { Request.checks.values.sum >= CHECKS }

session = Profiler.start(interval: 50)
pool = Array.new(3) { Thread.new { Request.new(numbers.pop).run(5) { Thread.pass } until enough.call } }
ring = Thread.new do
  until enough.call
    fibers = Array.new(8) { Fiber.new { Request.new(numbers.pop).run(4) { Fiber.yield } } }
    fibers.each { |fiber| fiber.resume if fiber.alive?; Request.check(nil) } while fibers.any?(&:alive?)
  end
end
async = Thread.new do
  until enough.call
    Thread.new do
      Fiber.set_scheduler(Scheduler.new)
      20.times { Fiber.schedule { Request.new(numbers.pop).run(4) { sleep(0.0001) } } }
    end.join
  end
end
[*pool, ring, async].each(&:join)
feeder.kill
profile = session.stop

abort "labels of others: #{Request.wrong.first(5).inspect} and #{Request.wrong.size} in all" if Request.wrong.any?
inside = 0
profile.samples.each do |row|
  method = row.frames.map { |frame| frame.name[/\ARequest#request_(\d+)\z/, 1] }.compact.first
  next unless method && row.labels["request"] != "(other)"

  inside += row.count
  abort "a sample of request_#{method} says #{row.labels}" unless row.labels["request"] && (Integer(row.labels["request"]) % 50) == Integer(method)
end
abort "hardly a sample" if inside < 20
puts "#{Request.checks.values.sum} checks, #{inside} of #{profile.stats[:samples]} samples inside, #{profile.stats[:dropped]} dropped"
