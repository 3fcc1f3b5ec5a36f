# frozen_string_literal: true

require_relative "../support/c_extension"

# Law 1 where a thread alternates between running and collecting garbage.
RSpec.describe "Time in garbage collections" do
  include_context "with a program"

  it "is their CPU time, and running has its own, beside busy processes", :timed do
    skip "before Ruby 3.3 no hook tells when Ruby collects garbage" if RUBY_VERSION < "3.3"
    rounds = program_json("gc_shares/beside_loops", env: { "ROUNDS" => "10" }, ruby_options: CExtension.options("gc_shares/gc_clock"), timeout: 120)
    rounds.each do |round|
      truth, seen = round.values_at(:truth, :seen)
      expect(truth[:gc]).to be > 1_000_000, round.to_s
      # Each step of a collection has hooks of the program and of the profiler, and the session is a little longer than what is timed.
      expect(seen[:gc]).to be_within((0.04 * truth[:gc]) + 200_000).of(truth[:gc]), rounds.to_s
      expect(seen[:running]).to be_within((0.04 * truth[:running]) + 500_000).of(truth[:running]), rounds.to_s
    end
    # Otherwise there would be nothing to tell apart.
    expect(rounds.sum { |round| round[:seen].fetch(:runnable, 0) }).to be > rounds.sum { |round| round[:truth].values.sum } / 4, rounds.to_s
  end

  [%i[cpu heap], %i[cpu native]].each do |modes|
    it "does not include the collections of results that tell what is live (#{modes.join(", ")})" do
      parts, clocks, collecting, report = run_json(<<~RUBY)
        KEPT = Array.new(1_000_000) { |number| "text \#{number}" }
        GC.start
        clock = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) }
        collecting = [] # by the program
        session = Profiler.start(mode: #{modes.inspect})
        clocks = [clock.call]
        parts = %i[snapshot rotate snapshot stop].map do |result|
          before = GC.total_time
          burn(20)
          collecting << (GC.total_time - before)
          clocks << clock.call # before the result, which collects garbage
          session.public_send(result).tap { clocks << clock.call }
        end
        print_json([parts.map { |part| [part.stats[:cpu_ns], part.stats[:unseen_cpu_ns], samples_in(part, "(garbage collection)").sum(&:cpu)] },
                    clocks, collecting, parts.last.report])
      RUBY
      expect(report).to match(/finding\s+what\s+is\s+live\s+took\s+[\d.]+\s+ms,\s+which\s+is\s+not\s+in\s+the\s+times/)
      one, two, three, four = clocks.each_slice(2).map { |from, to| to && (to - from) }.compact
      truth = [one, one + two, three, three + four]
      collected = collecting.each_slice(2).flat_map { |first, second| [first, first + second] }
      own = clocks.each_cons(2).each_slice(2).sum { |_, (from, to)| to.to_i - from.to_i }
      expect(own).to be > 80_000_000, "the collections take too little to be seen: #{clocks}"
      parts.zip(truth, collected) do |(cpu_ns, unseen_ns, collecting_ns), clock, own_collecting_ns|
        expect(collecting_ns).to be <= own_collecting_ns + 5_000_000, [parts, collecting].inspect
        # What a snapshot does after the collections, such as naming methods, is in the next part of a session that goes on.
        expect(cpu_ns).to be_between(clock - 12_000_000, clock + (own / 3)), [parts, truth, own].inspect
        expect(unseen_ns).to be < 12_000_000, [parts, truth].inspect
      end
    end
  end
end
