# frozen_string_literal: true

require_relative "../support/c_extension"
require_relative "../support/tools"

# Laws 1 and 3 for a thread that waits in C without releasing the GVL: that time is a part of its wall clock, `blocked`, at the
# function that waited. And no wait ends early because of the profiler.
RSpec.describe "Time blocked with the GVL" do
  include_context "with a program"
  include_context "with a box"
  include Tools

  # Before Ruby 3.3 such a wait can only be seen by a signal, which ends it.
  measured = RUBY_VERSION >= "3.3"
  def measured_only = (skip "before Ruby 3.3 nothing tells that a thread is blocked" if RUBY_VERSION < "3.3")

  six = %w[usleep nanosleep clock_nanosleep poll select epoll_wait]

  # The report of spec/programs/blocked/holder.rb.
  def holder(kinds:, mode: "wall", seed: Kernel.rand(1_000_000), **env)
    env = { kinds: kinds.join(","), mode: mode, seed: seed, **env }.to_h { |name, value| [name.to_s.upcase, value.to_s] }
    program_json("blocked/holder", env: env, ruby_options: CExtension.options("blocked/blocks"), timeout: 120)
  end

  # Each function has its time, and the states of the thread add up to its life.
  def expect_truth(report)
    report[:waited].each do |kind, waited|
      expect(report[:blocked].fetch(kind)).to be_within(0.05 * waited).of(waited), "#{kind} of #{report}"
    end
    # Where the function has no CPU to come back with, that is its time, too.
    report[:took].each do |kind, took|
      expect(report[:seen].fetch(kind)).to be >= 0.95 * took, "#{kind} of #{report}"
    end
    expect(report[:parts].values.sum).to eq(report[:wall])
    expect(report[:wall]).to be_within(20_000_000).of(report[:life]), report.to_s
    expect(report[:parts].fetch(:blocked, 0)).to be_within(0.05 * report[:waited].values.sum).of(report[:waited].values.sum), report.to_s
    expect(report[:parts].values_at(:running, :gc).sum(&:to_i)).to be_within((0.02 * report[:life]) + 5_000_000).of(report[:cpu]), report.to_s
    expect(report[:early]).to eq(0)
  end

  [["wall", 1_000], ["wall", 10_000], ["cpu,wall", 1_000], ["cpu,wall", 10_000]].each do |mode, interval|
    it "stands at the function that waited, mode #{mode}, interval #{interval}", :timed do
      measured_only
      expect_truth(holder(kinds: six, mode: mode, interval: interval))
    end

    it "stands there beside threads that want the GVL, and is blamed, mode #{mode}, interval #{interval}", :timed do
      measured_only
      report = holder(kinds: six, mode: mode, interval: interval, wanting: 3)
      expect_truth(report)
      # Three threads wait for each block, but for the millisecond that each of them sleeps.
      report[:waited].each do |kind, waited|
        share = report[:gvl_wait] * waited / report[:waited].values.sum
        expect(report[:blame].fetch(kind)).to be_within(0.5 * share).of(share), "#{kind} of #{report}"
      end
    end
  end

  %w[thread fiber new].each do |place|
    names = { "thread" => "another thread", "fiber" => "a fiber", "new" => "a thread that has just made another" }
    it "stands at the function that waited in #{names[place]}", :timed do
      measured_only
      skip "Ruby takes a new thread for the one that runs, and the question goes there" if place == "new"
      expect_truth(holder(kinds: six, place: place))
    end
  end

  it "stands at a function that raises, computes, or yields", :timed do
    measured_only
    # Of those that raise or yield, something that they call may be on top of the stack.
    expect_truth(holder(kinds: %w[failing computing yielding]))
  end

  it "stands there with each engine", :timed do
    measured_only
    Perf.among("perf", "thread_timer", "ticker", "setitimer", "safepoint").each do |engine|
      mode = engine == "ticker" ? "wall" : "cpu,wall"
      report = error_of { expect_truth(holder(kinds: six, mode: mode, engine: engine, rounds: 18)) }
      expect(report).to be_nil, "#{engine}: #{report}"
    end
  end

  # A failed expectation as a value, so that an example can name what it was about.
  def error_of
    yield
    nil
  rescue RSpec::Expectations::ExpectationNotMetError => e
    e.message
  end

  it "stands at the statement of SQLite that waits for another writer", :timed do
    measured_only
    need_library "sqlite3"
    %w[wall cpu,wall].each_with_index do |mode, number|
      report = program_json("blocked/sqlite", env: { "FILE" => in_box("#{number}.db"), "MODE" => mode }, timeout: 120)
      waited = report[:waited][:begin_writing]
      expect(waited).to be > 100_000_000
      expect(report[:blocked][:begin_writing]).to be_within(0.05 * waited).of(waited), report.to_s
      expect(report[:leaf]).to match(/\ASQLite3::/)
      expect(report[:parts].fetch(:runnable, 0)).to be < (0.1 * waited) + 50_000_000, report.to_s
    end
  end

  # The report of spec/programs/blocked/files.rb.
  def files_of(mode, engine: nil)
    directory = Dir.mktmpdir("slow", box)
    env = { "SLOW_FILES" => directory, "SLOW_FILES_US" => "2000", "MODE" => mode, "ENGINE" => engine }
    program_json("blocked/files", env: Preloaded.env("slow_files").merge(env), timeout: 120)
  end

  engines = Perf.among("perf", "thread_timer", "ticker", "setitimer", "safepoint")
  # Before Ruby 3.3 a wall clock is not measured at safepoints.
  ways = [["cpu", nil], ["wall", nil], ["cpu,wall", nil], ["allocations", nil], *engines.map { |engine| ["cpu", engine] },
          *(measured ? %w[ticker safepoint] : %w[ticker]).map { |engine| ["wall", engine] }, ["cpu,wall", "thread_timer"]]
  ways.each do |mode, engine|
    # A signal of the ticker may arrive in a call that the thread has entered meanwhile. So it is used only on request.
    promised = measured && engine != "ticker"
    it "is not cut short on a slow file system, mode #{mode}, engine #{engine || "of its choice"}", :timed do
      report = files_of(mode, engine: engine)
      calls, interrupted = report.values_at(:calls, :interrupted).map { |counts| counts.values.sum }
      expect(calls).to be > 100
      RSpec.configuration.reporter.message("calls ended by a signal, #{mode}, #{engine || "default"}: #{interrupted} of #{calls} #{report[:errors]}") unless promised
      expect([interrupted, report[:errors]]).to promised ? eq([0, {}]) : be_an(Array)
    end
  end

  it "and time without it are what a slow file system took", :timed do
    measured_only
    %w[wall cpu,wall].each do |mode|
      report = files_of(mode)
      slept = report[:slept].values.sum
      expect(report[:parts].values_at(:blocked, :waiting).sum(&:to_i)).to be_within(0.05 * slept).of(slept), report.to_s
      expect(report[:parts].fetch(:blocked, 0)).to be >= 0.95 * report[:slept][:readdir], report.to_s if RUBY_VERSION < "3.4" # which lists without the GVL
    end
  end

  it "is as long as without the profiler, and so is every sleep", :timed do
    alone = program_json("blocked/sleeps", env: { "MODE" => "none", "SEED" => "1" })
    expect(alone.values).to all(eq(0))
    ways.reject { |_mode, engine| engine == "ticker" }.each do |mode, engine|
      short = program_json("blocked/sleeps", env: { "MODE" => mode, "SEED" => Kernel.rand(1_000_000).to_s, "ENGINE" => engine })
      cut = short.select { |_way, count| count.positive? }
      RSpec.configuration.reporter.message("sleeps cut short, #{mode}, #{engine || "default"}: #{cut}") unless measured
      cut = cut.reject { |way, _count| way.to_s.start_with?("usleep") } unless measured # C's own, that is
      expect(cut).to be_empty, "#{mode}, #{engine}: #{cut}"
    end
  end
end
