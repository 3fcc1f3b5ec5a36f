# frozen_string_literal: true

require "json"

# The other program has no handler for SIGPROF: one that is pending, or comes later, ends it.
RSpec.describe "A profiled process that calls exec" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    # Burns CPU for a while as another program, and says that it got to its end.
    BURN = ["/bin/sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo alive"].freeze
    ENGINES = %w[setitimer ticker thread_timer].freeze
    def statuses(engine, times = 1)
      Array.new(times) { Process.wait2(fork { yield engine })[1].then { |it| it.termsig || it.exitstatus } }.tally
    end
  RUBY

  it "arms no timer for a session that another thread starts meanwhile" do
    # To look for the program, Ruby asks its name to be a String: other Ruby code runs between us and the system call.
    out = run(<<~RUBY)
      Name = Struct.new(:engine) do
        def to_str
          @session ||= Thread.new { Profiler.start(engine: engine.to_sym, interval: 50) }.join
          BURN.first
        end
      end
      ENGINES.each do |engine|
        p statuses(engine) { Profiler.start(engine: engine.to_sym).stop; exec(Name.new(engine), *BURN.drop(1)) }
      end
    RUBY
    ok = RUBY_VERSION < "3.4" ? "{0=>1}" : "{0 => 1}"
    expect(out).to eq("alive\n#{ok}\n" * 3)
  end

  it "has no pending signal of the ticker" do
    late = run(<<~RUBY)
      Profiler.start(engine: :ticker, interval: 50, threads: :current)
      Profiler::Testing.slow_ticks(1_000)
      late = Array.new(100) do
        burn(2)
        Profiler::Native.disarm
        before = Profiler::Testing.late
        burn(3)
        [Profiler::Testing.late - before, Profiler::Native.rearm].first
      end
      p late.sum
    RUBY
    expect(late).to eq("0\n")
  end

  it "continues its sessions if exec fails, once no other thread is in exec" do
    out = run(<<~RUBY)
      ENGINES.each do |engine|
        session = Profiler.start(engine: engine.to_sym)
        ticks = -> { session.snapshot.stats[:captured] }
        outcomes = Array.new(3) { error { exec("/no/such/program") }[/\\A\\w+::\\w+/] }
        go, ready = Queue.new, Queue.new
        name = Object.new
        name.define_singleton_method(:to_str) { ready << true; go.pop; "/no/such/program" }
        other = Thread.new { error { exec(name) } }
        ready.pop
        outcomes << error { exec("/no/such/program") }[/\\A\\w+::\\w+/]
        before = ticks.call
        burn(150)
        still = ticks.call - before
        go << true
        other.join
        before = ticks.call
        burn(150)
        puts [*outcomes.uniq, still, ticks.call - before > 5, session.stop.meta[:notes]].inspect
      end
    RUBY
    expect(out).to eq("[\"Errno::ENOENT\", 0, true, []]\n" * 3)
  end

  it "continues the sessions of a child that was forked while another thread was in exec" do
    expect(run(<<~RUBY)).to eq("true\n")
      session = Profiler.start(engine: :thread_timer)
      go, ready = Queue.new, Queue.new
      name = Object.new
      name.define_singleton_method(:to_str) { ready << true; go.pop; "/no/such/program" }
      other = Thread.new { error { exec(name) } }
      ready.pop
      Process.wait(fork { burn(200); p session.stop.stats[:captured] > 5 })
      go << true
      other.join
    RUBY
  end

  it "survives exec in another Ractor, and if that fails notes that recording has ended" do
    out = run(<<~RUBY, ruby_options: ["-W0"])
      def result_of(ractor) = ractor.respond_to?(:value) ? ractor.value : ractor.take
      session = Profiler.start(engine: :ticker, interval: 50)
      p result_of(Ractor.new { begin; exec("/no/such/program"); rescue SystemCallError => e; e.class.name; end })
      burn
      p session.stop.meta[:notes]
      ENGINES.each do |engine|
        Process.wait(fork { Profiler.start(engine: engine.to_sym, interval: 50); burn(20); result_of(Ractor.new(BURN) { |it| exec(*it) }) })
        p $?.to_i
      end
    RUBY
    expect(out).to eq(%("Errno::ENOENT"\n["exec was called in a Ractor: nothing was recorded from then on"]\n) + ("alive\n0\n" * 3))
  end
end
