# frozen_string_literal: true

# Ruby delivers Thread#raise, Thread#kill, Timeout and what a trap raises wherever a method is called: also inside of ours.
RSpec.describe "Exceptions raised into a call of ours" do
  def run(code, **options)
    result = ruby_child("-e", "require 'profiler'\nrequire 'timeout'\n#{code}", **options)
    expect(result.status).to be_success, "#{result.status}\n#{result.err[0, 2_000]}"
    result.out
  end

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
      expect(run(<<~RUBY, timeout: 120)).to eq("20\n{}\n")
        #{storm}
        puts storm(20) { #{work} }
        p Profiler.labels
      RUBY
    end
  end

  it "propagate as Timeout" do
    expect(run(<<~RUBY)).to eq("20\n")
      puts(20.times.count do
        Timeout.timeout(0.02) { till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 3; Profiler.label(a: 1) { } while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till }
        false
      rescue Timeout::Error
        true
      end)
    RUBY
  end

  it "end a thread that is killed inside of a label" do
    expect(run(<<~RUBY)).to eq("20\n")
      puts(20.times.count do
        entered = Queue.new
        thread = Thread.new { entered << true; loop { Profiler.label(a: 1) { } } }
        entered.pop
        sleep(rand * 0.01)
        thread.kill
        thread.join(5)
      end)
    RUBY
  end

  it "do not leave the labels of a block behind" do
    expect(run(<<~RUBY)).to eq("[]\n")
      left = []
      60.times do
        entered = Queue.new
        thread = Thread.new do
          entered << true
          begin
            loop { Profiler.label(a: 1) { } }
          rescue RuntimeError
            fiber = Fiber.new { Profiler.labels }.resume
            left << [Profiler.labels, fiber] unless Profiler.labels.empty? && fiber.empty?
          end
        end
        entered.pop
        sleep(rand * 0.002)
        thread.raise("now")
        thread.join
      end
      p left
    RUBY
  end

  it "leave no session behind without an owner" do
    expect(run(<<~RUBY, timeout: 120)).to eq("0 false\n")
      #{storm}
      storm(40) { Profiler::Session.start(mode: %i[cpu wall]).stop }
      storm(20) { Profiler.run { } }
      GC.start
      Thread.pass
      100.times { |number| number.to_s }
      puts "\#{Profiler::Testing.sessions} \#{Profiler.running?}"
    RUBY
  end

  it "keep a stopped profile until it was returned" do
    expect(run(<<~RUBY)).to eq("true\n")
      # The trap raises on the main thread, where the VM resolves names: often enough amid that.
      trap("USR1") { raise "signal" }
      kept = lost = 0
      300.times do
        session = Profiler::Session.start(interval: 50)
        10.times { Class.new { define_method(:made) { 200.times { |number| number.to_s } } }.new.made }
        sender = Thread.new { sleep(rand * 0.003); Process.kill(:USR1, Process.pid) }
        begin
          session.stop
        rescue RuntimeError
          kept += 1 if session.running? || session.unclaimed?
          (session.stop rescue lost += 1)
        end
        begin
          sender.join
          sleep 0.005
        rescue RuntimeError
          nil # it came after all
        end
      end
      puts lost.zero?
    RUBY
  end

  it "keep no unclaimed profile beyond the next start" do
    expect(run(<<~RUBY, timeout: 120)).to match(/\A20 interrupted, [01] kept\n\z/)
      stopping = false
      trap("USR1") { (stopping = false; raise "signal") if stopping }
      sender = fork { loop { sleep(rand * 0.001); Process.kill(:USR1, Process.ppid) } }
      interrupted = 0
      until interrupted == 20
        Profiler.start(interval: 50)
        begin
          stopping = true
          Profiler.stop
          stopping = false
        rescue RuntimeError
          interrupted += 1 unless Profiler::Session.newest&.running?
        end
      end
      Process.kill(:KILL, sender)
      Process.wait(sender)
      Profiler.start.discard
      GC.start
      puts "\#{interrupted} interrupted, \#{ObjectSpace.each_object(Profiler::Session).count(&:unclaimed?)} kept"
    RUBY
  end

  it "pass through the question whether this is development" do
    # Ruby rescues all that is raised while it evaluates defined?(receiver.method).
    expect(run(<<~RUBY, timeout: 120)).to eq("[]\n")
      require "profiler/middleware"
      Profiler::Middleware::Permission.development? # loads it: an exception within require is another matter
      left = Array.new(400) do |number|
        entered = Queue.new
        thread = Thread.new do
          Thread.current.report_on_exception = false
          entered << true
          loop { Profiler::Middleware::Permission.development? }
        end
        entered.pop
        sleep(rand * 0.001)
        thread.raise(Interrupt, "now")
        ended = begin
          thread.join(2)
        rescue Interrupt
          true
        end
        thread.kill
        number unless ended
      end
      p left.compact
    RUBY
  end

  it "do not stay as an answer" do
    # The very first questions are asked while exceptions arrive, on a thread of its own each time.
    expect(run(<<~RUBY, timeout: 120)).to eq("fine\n")
      4.times do
        pid = fork do
          thread = Thread.new { Thread.current.report_on_exception = false; loop { Profiler.run(mode: :wall) { } } }
          50.times { sleep(rand * 0.001); thread.raise("now") if thread.alive?; thread = Thread.new { Thread.current.report_on_exception = false; loop { Profiler.run(mode: :wall) { } } } unless thread.alive? }
          thread.kill
          thread.join rescue nil
          Profiler.run(mode: :wall) { Profiler.name_of(method(:puts)); sleep 0.01 }
          exit!(0)
        end
        _, status = Process.wait2(pid)
        abort status.inspect unless status.success?
      end
      puts "fine"
    RUBY
  end
end
