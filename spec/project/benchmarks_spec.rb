# frozen_string_literal: true

require "tmpdir"
require_relative "../support/tools"

# The benchmarks still run. Their figures are not checked: no spec may fail because a machine is slow.
RSpec.describe "The benchmark" do
  include Tools

  # The rows of all tables of a report: name => cells.
  def rows_of(markdown)
    markdown.scan(/^\| (.*) \|$/).map { |(line)| line.split(" | ", -1).map(&:strip) }.group_by(&:first)
  end

  contenders = {
    "overhead" => %w[null floor_empty floor ours],
    "cost" => %w[floor_empty floor floor_timed ours],
    "handler" => ["bare rb_profile_frames", "floor (one walk)", "floor, and the thread's CPU clock", "ours"],
    "engines" => ["cpu, perf", "cpu, ticker", "cpu, thread_timer", "wall, ticker"],
    "ticks" => ["null", "floor ticker", "ours ticker", "switches, null"],
    "accuracy" => ["mixed, cpu", "mixed, wall", "threads, cpu", "threads, wall", "gc, wall", "blocking, wall", "ruby, cpu", "c, cpu", "mixed, cpu", "calls, cpu"],
    "eintr" => %w[poll epoll_wait recv nanosleep connect].flat_map { |name| [name, "#{name}, GVL held"] } + ["brief polls", "churn"],
    "start_stop" => ["floor", "ours", "around nothing"],
    "churn" => ["stop", "a minor GC, with them"],
    "names" => ["ours"]
  }
  contenders.each do |name, expected|
    it "#{name} prints and keeps a table with a number for every contender" do
      Dir.mktmpdir do |directory|
        # Ticks come each 4 ms, and a slice has some, even if the machine has become twice as fast since it was chosen.
        env = { "BENCH_SECONDS" => "0.04", "BENCH_PAIRS" => "1", "BENCH_OUT" => directory, "BENCH_INTERVAL" => nil }
        env["BENCH_ROWS"] = "^(?!.* of )" if name == "accuracy" # not both modes in one session, too
        result = ruby_child("bench/run.rb", name, env: env, timeout: 600)
        expect(result.code).to eq(0), result.err
        rows = rows_of(result.out)
        expect(rows.keys).to include(*expected)
        rows.values_at(*expected).flatten(1).each do |contender, *cells|
          expect(cells).not_to be_empty
          expect(cells).to all(match(/\A-?\d+(\.\d+)?\b/)), "#{contender}: #{cells}"
        end
        expect(File.read(File.join(directory, "#{name}.md"))).to eq(result.out.chomp)
      end
    end
  end

  it "idle prints and keeps a table with a number for every program and way to profile it" do
    Dir.mktmpdir do |directory|
      result = ruby_child("bench/idle.rb", env: { "BENCH_SECONDS" => "1", "BENCH_ROWS" => "sleep|pop", "BENCH_OUT" => directory }, timeout: 100)
      expect(result.code).to eq(0), result.err
      rows = rows_of(result.out)
      expect(rows.keys).to include("without", "cpu, 1 ms", "wall, 10 ms", "cpu,wall, 1 ms", "allocations")
      rows.except("---", "").each_value { |(cells)| expect(cells.drop(1)).to match([%r{\A\d+ / \d+, \d+\.\d ms\z}] * 2) }
      expect(File.read(File.join(directory, "idle.md"))).to eq(result.out.chomp)
    end
  end

  it "rack prints and keeps tables with a number for every contender" do
    %w[puma wrk].each { |name| need name }
    %w[rails sqlite3 stackprof].each { |name| need_library name }
    Dir.mktmpdir do |directory|
      result = ruby_child("bench/rack.rb", env: { "BENCH_SECONDS" => "1", "BENCH_PAIRS" => "1", "BENCH_OUT" => directory }, timeout: 200)
      expect(result.code).to eq(0), result.err
      throughput, single = rows_of(result.out).values_at("none_again", "idle", "slower_than", "slower_than_cpu").transpose
      expect([*throughput, *rows_of(result.out)["stackprof"]].map(&:last)).to all(match(/\A\d\.\d+ /))
      expect(single.map { |row| row.drop(1) }).to all(match([/\A-?\d+ \[/, /\A\d\.\d+ \[/]))
      expect(File.read(File.join(directory, "rack.md"))).to eq(result.out.chomp)
    end
  end

  it "latency prints and keeps a ratio for every contender, all of whose windows arrived" do
    %w[puma wrk].each { |name| need name }
    %w[rails sqlite3 stackprof].each { |name| need_library name }
    Dir.mktmpdir do |directory|
      env = { "BENCH_SECONDS" => "1", "BENCH_PAIRS" => "1", "BENCH_PERIOD" => "0.3", "BENCH_OUT" => directory }
      result = ruby_child("bench/latency.rb", env: env, timeout: 200)
      expect(result.code).to eq(0), result.err
      rows = rows_of(result.out).slice("off_again", "none", "otlp", "pyroscope")
      expect(rows.size).to eq(4)
      rows.each_value { |(cells)| expect(cells.last(4).first(3)).to all(match(/\A\d+\.\d+ \[/)) }
      expect(rows.transform_values { |(cells)| Integer(cells.last).positive? }).to eq("off_again" => true, "none" => false, "otlp" => true, "pyroscope" => true)
      expect(File.read(File.join(directory, "latency.md"))).to eq(result.out.chomp)
    end
  end
end
