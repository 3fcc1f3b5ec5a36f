# frozen_string_literal: true

# Ruby delivers Thread#raise, Thread#kill, Timeout and what a trap raises wherever a method is called: also inside of ours.
RSpec.describe "Exceptions delivered while the profiler runs" do
  include_context "with a program"

  let(:prelude) { "require 'timeout'" }

  # Runs +work+ over and over on a thread that is raised at, and counts what came through.
  let(:storm) { <<~RUBY }
    Delivered = Class.new(StandardError)
    def storm(rounds, &work)
      arrived = 0
      rounds.times do
        entered = Queue.new
        thread = Thread.new do
          Thread.current.report_on_exception = false
          till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 5
          entered << true
          work.call while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
        end
        entered.pop
        sleep(rand * 0.004)
        thread.raise(Delivered)
        begin
          thread.join(10) or abort "the thread did not end"
        rescue Delivered
          arrived += 1
        end
      end
      arrived
    end
  RUBY

  {
    "Profiler.label" => "Profiler.label(request: 1) { }",
    "labels inside labels" => "Profiler.label(a: 1) { Profiler.label(b: 2) { Fiber.new { Profiler.label(c: 3) { } }.resume } }",
    "Profiler.run" => "Profiler.run { [1].each { |one| one.to_s } }",
    "sessions that show what they have" => "Profiler::Session.start.then { |one| one.snapshot; one.stop }",
    "names of blocks" => "Profiler.run { Class.new { define_method(:made) { 3.times { |n| n.to_s } } }.new.made }",
    "Profiler.name_of" => "Profiler.name_of(String.instance_method(:upcase))"
  }.each do |name, work|
    it "propagate from #{name}" do
      expect(run_json(<<~RUBY, timeout: 120)).to eq([20, {}])
        #{storm}
        print_json([storm(20) { #{work} }, Profiler.labels])
      RUBY
    end
  end

  it "propagate as Timeout" do
    raised = run_json(<<~RUBY)
      now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
      print_json(Array.new(20) { error { Timeout.timeout(0.02) { till = now.call + 20; Profiler.label(a: 1) { } while now.call < till } } })
    RUBY
    expect(raised).to eq(["Timeout::Error: execution expired"] * 20)
  end

  it "end a thread that is killed inside a label" do
    ended = run_json(<<~RUBY)
      ended = 20.times.count do
        entered = Queue.new
        thread = Thread.new { entered << true; loop { Profiler.label(a: 1) { } } }
        entered.pop
        sleep(rand * 0.01)
        thread.kill
        thread.join(20)
      end
      print_json(ended)
    RUBY
    expect(ended).to eq(20)
  end

  it "do not leave the labels of a block behind" do
    left = run_json(<<~RUBY)
      left = Array.new(60) do
        entered = Queue.new
        thread = Thread.new do
          entered << true
          begin
            loop { Profiler.label(a: 1) { } }
          rescue RuntimeError
            [Profiler.labels, Fiber.new { Profiler.labels }.resume]
          end
        end
        entered.pop
        sleep(rand * 0.002)
        thread.raise("now")
        thread.value
      end
      print_json(left)
    RUBY
    expect(left).to eq([[{}, {}]] * 60)
  end

  it "leave no session behind without an owner" do
    expect(run_json(<<~RUBY, timeout: 120)).to eq([0, false])
      #{storm}
      storm(40) { Profiler::Session.start(mode: %i[cpu wall]).stop }
      storm(20) { Profiler.run { } }
      GC.start
      Thread.pass
      100.times { |number| number.to_s }
      print_json([Profiler::Testing.sessions, Profiler.running?])
    RUBY
  end

  # Stops sessions while a child sends signals, whose trap raises, until so many stops were interrupted. The VM resolves names
  # on the main thread meanwhile. Returns the block's values of these sessions.
  let(:interruptions) { <<~RUBY }
    def interrupt_stops(number)
      stopping = false
      trap("USR1") { (stopping = false; raise "signal") if stopping }
      sender = fork { loop { sleep(rand * 0.001); Process.kill(:USR1, Process.ppid) } }
      values = []
      until values.size == number
        session = Profiler::Session.start(interval: 50)
        begin
          stopping = true
          session.stop
          stopping = false
        rescue RuntimeError
          session.running? ? session.discard : values << yield(session)
        end
      end
      values
    ensure
      Process.kill(:KILL, sender)
      Process.wait(sender)
    end
  RUBY

  it "keep a stopped profile" do
    stops = run_json(<<~RUBY, timeout: 120)
      #{interruptions}
      print_json(interrupt_stops(30) { |session| [session.unclaimed?, error { session.stop }] })
    RUBY
    expect(stops.map(&:last)).to eq(["none"] * 30)
    # Ruby checks for interrupts once more when the method returns: that was two in twenty.
    expect(stops.count(&:first)).to be > 15
  end

  it "keep no unclaimed profile beyond the next start" do
    expect(run_json(<<~RUBY, timeout: 120)).to match(unclaimed: be > 10, kept: be_between(0, 1))
      #{interruptions}
      unclaimed = interrupt_stops(20, &:unclaimed?).count(true)
      Profiler.start.discard
      GC.start
      print_json(unclaimed: unclaimed, kept: ObjectSpace.each_object(Profiler::Session).count(&:unclaimed?))
    RUBY
  end

  it "propagate from the check for the development environment" do
    # Ruby rescues all that is raised while it evaluates defined?(receiver.method). Each exception may wait for a time slice or two.
    expect(run_json(<<~RUBY, timeout: 300)).to eq(400)
      require "profiler/middleware"
      Profiler::Permission.development? # loads it: an exception within require is another matter
      raised = Array.new(400) do |number|
        entered = Queue.new
        thread = Thread.new do
          Thread.current.report_on_exception = false
          entered << true
          loop { Profiler::Permission.development? }
        end
        entered.pop
        sleep(rand * 0.001)
        thread.raise(Interrupt, "now")
        begin
          thread.join(20)
        rescue Interrupt
          true
        ensure
          thread.kill
        end
      end
      print_json(raised.count(true))
    RUBY
  end

  it "are not cached as a result" do
    # The very first questions are asked while exceptions arrive, on a thread of its own each time.
    expect(run_json(<<~RUBY, timeout: 120)).to eq([0] * 4)
      Thread.report_on_exception = false
      work = -> { Thread.new { loop { Profiler.run(mode: :wall) { } } } }
      statuses = Array.new(4) do
        pid = fork do
          thread = work.call
          50.times { sleep(rand * 0.001); thread.raise("now") if thread.alive?; thread = work.call unless thread.alive? }
          thread.kill
          thread.join rescue nil
          Profiler.run(mode: :wall) { Profiler.name_of(method(:puts)); sleep 0.01 }
          exit!(0)
        end
        Process.wait2(pid).last.then { |it| it.exitstatus || it.to_s }
      end
      print_json(statuses)
    RUBY
  end
end
