# frozen_string_literal: true

# The other program has no handler for SIGPROF: one that is pending, or comes later, ends it.
RSpec.describe "A profiled process that calls exec" do
  include_context "with a program"

  let(:prelude) { require_program("exec/slowly") }

  it "arms no timer for a session that another thread starts meanwhile" do
    # To look for the program, Ruby asks its name to be a String: other Ruby code runs between us and the system call.
    out = run(<<~RUBY)
      Name = Struct.new(:engine) do
        def to_str
          @session ||= Thread.new { Profiler.start(engine: engine.to_sym, interval: 50) }.join
          BURN.first
        end
      end
      print_json(ENGINES.map { |engine| status(engine) { Profiler.start(engine: engine.to_sym).stop; exec(Name.new(engine), *BURN.drop(1)) } })
    RUBY
    expect(out).to eq("alive\nalive\nalive\n[0,0,0]\n")
  end

  it "has no pending signal of the ticker" do
    late, captured = run_json(<<~RUBY)
      session = Profiler.start(engine: :ticker, interval: 50, threads: :current)
      Profiler::Testing.slow_ticks(1_000)
      late = Array.new(100) do
        burn(2)
        Profiler.const_get(:Native).disarm
        before = Profiler::Testing.late
        burn(3)
        [Profiler::Testing.late - before, Profiler.const_get(:Native).rearm].first
      end
      print_json([late, session.stop.stats[:captured]])
    RUBY
    expect(late).to eq([0] * 100)
    expect(captured).to be > 10
  end

  it "continues its sessions if exec fails, once no other thread is in exec" do
    outcomes = program_json("exec/failures")
    expect(outcomes).to match([[[/\AErrno::ENOENT: /], 0, be > 5, []]] * 3)
  end

  it "continues the sessions of a child that was forked while another thread was in exec" do
    captured = run_json(<<~RUBY)
      session = Profiler.start(engine: :thread_timer)
      slow_exec { print_json(in_fork { burn_in_pieces(200); session.stop.stats[:captured] }) }
    RUBY
    expect(captured).to be > 5
  end

  it "survives exec in another Ractor, and if that fails notes that recording has ended" do
    *alive, output = run(<<~RUBY, ruby_options: ["-W0"]).lines
      def result_of(ractor) = ractor.respond_to?(:value) ? ractor.value : ractor.take
      session = Profiler.start(engine: :ticker, interval: 50)
      failed = result_of(Ractor.new { begin; exec("/no/such/program"); rescue SystemCallError => e; e.class.name; end })
      burn
      notes = session.stop.meta[:notes]
      ended = ENGINES.map { |engine| status(engine) { Profiler.start(engine: engine.to_sym, interval: 50); burn(20); result_of(Ractor.new(BURN) { |it| exec(*it) }) } }
      print_json([failed, notes, ended])
    RUBY
    expect(alive).to eq(["alive\n"] * 3)
    expect(JSON.parse(output)).to eq(["Errno::ENOENT", ["recording stopped before the end: exec was called in a Ractor"], [0, 0, 0]])
  end
end
