# frozen_string_literal: true

# Ruby delivers Thread#raise, Thread#kill, Timeout and what a trap raises wherever a method is called, even inside of the profiler's.
RSpec.describe "Exceptions delivered while the profiler runs" do
  include_context "with a program"

  let(:prelude) { "require 'timeout'" }
  storms = File.expand_path("../programs/interrupts/storms.rb", __dir__)

  {
    "Profiler.label" => "Profiler.label(request: 1) { }",
    "labels inside labels" => "Profiler.label(a: 1) { Profiler.label(b: 2) { Fiber.new { Profiler.label(c: 3) { } }.resume } }",
    "Profiler.run" => "Profiler.run { [1].each { |one| one.to_s } }",
    "sessions that show what they have" => "Profiler::Session.start.then { |one| one.snapshot; one.stop }",
    "names of blocks" => "Profiler.run { Class.new { define_method(:made) { 3.times { |n| n.to_s } } }.new.made }",
    "Profiler.name_of" => "Profiler.name_of(String.instance_method(:upcase))"
  }.each do |name, work|
    it "propagate from #{name}" do
      expect(run_json(<<~RUBY, timeout: 120)).to eq([10, 200, {}])
        require #{storms.inspect}
        work = -> { #{work} }
        print_json([storm(10, &work), storm_of_signals(200, &work), Profiler.labels])
      RUBY
    end
  end

  it "propagate as Timeout" do
    raised = run_json(<<~RUBY)
      now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
      print_json(Array.new(10) { error { Timeout.timeout(0.02) { till = now.call + 20; Profiler.label(a: 1) { } while now.call < till } } })
    RUBY
    expect(raised).to eq(["Timeout::Error: execution expired"] * 10)
  end

  it "end a thread that is killed inside a label" do
    ended = run_json(<<~RUBY)
      ended = 20.times.count do
        entered = Queue.new
        thread = Thread.new { entered << true; sleep 0.0001; loop { Profiler.label(a: 1) { } } }
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
      require #{storms.inspect}
      left = []
      leave = lambda do
        Profiler.label(a: 1) { }
      rescue Delivered
        left << [Profiler.labels, Fiber.new { Profiler.labels }.resume]
        raise
      end
      print_json([storm(15, &leave), storm_of_signals(300, &leave), left.uniq])
    RUBY
    expect(left).to eq([15, 300, [[{}, {}]]])
  end

  it "leave no session behind without an owner" do
    expect(run_json(<<~RUBY, timeout: 120)).to eq([0, false])
      require #{storms.inspect}
      %i[storm storm_of_signals].zip([1, 20]) do |storm, times|
        send(storm, 10 * times) { Profiler::Session.start(mode: %i[cpu wall]).stop }
        send(storm, 5 * times) { Profiler.run { } }
      end
      GC.start
      Thread.pass
      100.times { |number| number.to_s }
      print_json([Profiler::Testing.sessions, Profiler.running?])
    RUBY
  end

  # Stops sessions while a child sends signals, whose trap raises, until enough stops were interrupted. The VM resolves names
  # on the main thread meanwhile. Returns the block's values of these sessions.
  let(:interruptions) { require_program("interrupts/stops") }

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
    # Ruby rescues all that is raised while it evaluates defined?(receiver.method): one exception in hundreds would be lost here. Those
    # of a trap do not wait for a time slice, so there can be thousands.
    expect(run_json(<<~RUBY, timeout: 120)).to eq(2_000)
      require #{storms.inspect}
      require "profiler/middleware"
      Profiler.const_get(:Permission).development? # loads it: an exception within require is another matter
      print_json(storm_of_signals(2_000) { Profiler.const_get(:Permission).development? })
    RUBY
  end

  it "are not cached as a result" do
    # The very first questions are asked while exceptions arrive, on a thread of its own each time: later ones have answers.
    expect(run_json(<<~RUBY, timeout: 120)).to eq([0] * 6)
      Thread.report_on_exception = false
      work = -> { Thread.new { loop { Profiler.run(mode: :wall) { } } } }
      statuses = Array.new(6) do
        pid = fork do
          thread = work.call
          12.times { sleep(rand * 0.001); thread.raise("now") if thread.alive?; thread = work.call unless thread.alive? }
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
