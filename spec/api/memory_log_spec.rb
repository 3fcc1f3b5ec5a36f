# frozen_string_literal: true

RSpec.describe "Memory over time" do
  include_context "with a program"
  include_context "with a box"

  it "is in the profiles of periods, with the kinds and classes that grow" do
    result = run_json(<<~RUBY)
      class Kept; def initialize = @number = 1; end
      all = []
      session = Profiler.continuous(period: 0.5, memory: 1, out: #{in_box("kept").inspect}, mode: :cpu) { |profile| all << profile }
      burn(50) until all.any? { |it| it.memory.any? }
      objects, bytes = Array.new(100_000) { Kept.new }, Array.new(20) { "k" * 500_000 }
      done = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      burn(50) until all.any? { |it| it.memory.any? { |row| row[:at_ns] > done } }
      metrics = Profiler.metrics
      session.stop
      rows = all.flat_map(&:memory)
      merged = Profiler::Profile.merge(*Dir.glob(#{in_box("kept/*").inspect}).map { |it| Profiler::Profile.load(it) })
      print_json(rows: rows, merged: merged.memory, metrics: metrics, report: merged.report, anonymous: merged.anonymize.memory.last, error: session.error)
    RUBY
    rows = result[:rows]
    expect(result).to include(merged: rows, error: nil)
    first, last = rows.values_at(0, -1)
    expect(rows.map { |it| it[:at_ns] }.each_cons(2)).to all(satisfy { |one, next_one| next_one - one > 800_000_000 })
    rows.each { |row| expect(row[:kinds].values.sum).to be_within(row[:rss] * 0.05).of(row[:rss]) }
    expect(last[:rss] - first[:rss]).to be > 5_000_000
    expect(last[:classes].find { |it| it[:name] == "Kept" }).to include(objects: be_between(85_000, 115_000))
    expect(last[:classes].find { |it| it[:name] == "(internal to Ruby) iseq (code)" }).to include(objects: be_positive)
    malloc = ->(row) { row[:malloc].values_at(:in_use, :mapped).sum }
    expect(malloc[last] - malloc[first]).to be > 8_000_000
    expect(result.dig(:metrics, :profiler_memory_resident_bytes).keys.join).to include("main_arena")
    expect(result.dig(:metrics, :profiler_memory_slots_bytes).keys.join).to include("Kept")
    expect(result[:report]).to match(/^Memory: RSS [\d.]+ MiB, \+[\d.]+ MiB in [\d.]+ m?s$/)
    expect(result[:anonymous]).to include(pid: 0, classes: [], rss: last[:rss])
  end

  it "is kept without a session, and by each forked child for itself" do
    result = run_json(<<~'RUBY')
      log = Profiler.memory(every: 1)
      again = error { Profiler.memory(every: 1) }
      wrong = [0.5, "1", true].map { |it| error { Profiler.memory(every: it) } } + [error { Profiler.memory(every: 1, owners: true) }]
      kept = []
      kept << ("k" * 1_000_000) and sleep 0.05 until log.rows.size >= 2
      from, into = IO.pipe
      pid = fork do
        3_000_000.times { "garbage" } and sleep 0.05 until log.rows.any?
        into.write(JSON.generate(log.rows.map { |it| it[:pid] }.uniq))
        exit!
      end
      into.close
      child = JSON.parse(from.read)
      Process.wait(pid)
      stopped = log.stop
      print_json(rows: log.rows.size, current: Profiler::MemoryLog.current, child: child == [pid], stopped: stopped, again: again, wrong: wrong,
                 sessions: Profiler.metrics[:profiler_sessions], running: log.running?, threads: Thread.list.size)
    RUBY
    expect(result).to include(rows: be >= 2, current: nil, child: true, stopped: true, sessions: 0, running: false, threads: 1)
    expect(result[:again]).to match(/AlreadyRunning: a log of memory is running in this process/)
    expect(result[:wrong]).to match([/every: 0\.5 is not a number of seconds from 1 to 86400/, /every: "1" is not/, /every: true is not/, /every: does not go with owners/])
  end

  it "leaves out rows while nothing happens, and keeps few of many" do
    result = run_json(<<~'RUBY')
      require "profiler/periods/memory_rows"
      $now = 0.0
      $objects = 0
      GC.singleton_class.define_method(:stat) { |_name| $objects }
      Profiler.const_get(:Clock).singleton_class.define_method(:now) { $now }
      rows = Profiler.const_get(:MemoryRows).new("every", 1)
      taken = 0
      Profiler.const_get(:Native).singleton_class.define_method(:memory_row) { %({"number": #{taken += 1}, "cpu_ns": #{taken > 2_002 ? 1_000_000_000 : 1_000}}) }
      idle = 22.times.map { $now += 1; rows.take; taken }
      2_000.times { $now += 1; $objects += 20_000; rows.take }
      last = rows.last
      dear = Array.new(101) { $now += 1; $objects += 20_000; rows.take; taken }
      print_json(idle: idle, last: last, dear: dear, size: rows.to_a.size, handed: rows.hand_over.size, left: rows.to_a)
    RUBY
    expect(result[:idle]).to eq([1] * 11 + [2] * 11)
    expect(result).to include(last: { number: 2_002, cpu_ns: 1_000 }, size: be_between(700, 1_440), left: [])
    expect(result[:handed]).to eq(result[:size])
    expect(result[:dear]).to eq([2_003] * 100 + [2_004]), "a row that takes a second is not repeated for 100 seconds"
  end
end
