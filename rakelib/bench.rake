# frozen_string_literal: true

# Benchmarks build the extension as it is shipped (compile:shipped). The numbers go to tmp/bench/*.md as well. BENCH_SECONDS (of CPU, a slice) and BENCH_PAIRS shorten a run.
def bench(name)
  sh RUBY, "#{ROOT}/bench/run.rb", name, verbose: false
end

desc "Measure the overhead against the floor and stackprof (quiet machine, 12 minutes)"
task(bench: "compile:shipped") { bench("overhead") }

namespace :bench do
  {
    cost: "Measure what a sample costs at depth 10, 50, 200 and 1000 (25 minutes)",
    handler: "Measure the handler alone against a bare rb_profile_frames (3 minutes)",
    engines: "Measure how many ticks come, by engine, and what they take (12 minutes)",
    ticks: "Measure what a tick costs, engine by engine, and what 100,000 waits a second lose (5 minutes)",
    accuracy: "Measure how far profiles are from the truth that programs keep of themselves, stackprof's too (15 minutes)",
    allocations: "Measure what it takes to make an object while somebody looks, stackprof's hook too (3 minutes)",
    eintr: "Measure how many system calls that wait are ended by a signal, stackprof's too (6 minutes)",
    start_stop: "Measure what it takes to start, to stop and to load (5 minutes)",
    names: "Measure what names cost when a session stops (1 minute)",
    churn: "Measure stops and GC while 32 threads start and stop sessions (75 seconds)"
  }.each do |name, what|
    desc what
    task(name => "compile:shipped") { bench(name.to_s) }
  end

  desc "Measure how much the middleware, and stackprof's, reduce the throughput of a Rails app in Puma (3 minutes)"
  task rack: "compile:shipped" do
    sh RUBY, "#{ROOT}/bench/rack.rb", verbose: false
  end

  desc "Measure how much uploads increase the latency of a Rails app in Puma, compared with windows that are dropped (17 minutes)"
  task latency: "compile:shipped" do
    sh RUBY, "#{ROOT}/bench/latency.rb", verbose: false
  end

  desc "Measure the CPU time that the middleware adds to a request, without a server or Rails (1 minute)"
  task middleware: "compile:shipped" do
    sh RUBY, "#{ROOT}/bench/middleware.rb", verbose: false
  end

  desc "Measure how long a process stands still for a ledger of memory with owners, and what is copied (5 minutes; BENCH_SIZES in MB, BENCH_RUNS)"
  task memory: "compile:shipped" do
    sh RUBY, "-Ilib", "#{ROOT}/bench/memory.rb", verbose: false
  end

  desc "Measure the CPU time that a trace adds to a call of the traced method, and what the call takes afterwards (10 seconds)"
  task trace: "compile:shipped" do
    sh RUBY, "#{ROOT}/bench/trace.rb", verbose: false
  end

  desc "Measure context switches and CPU of processes that wait: sleep, Queue#pop, Puma, Sidekiq (5 minutes)"
  task idle: "compile:shipped" do
    sh RUBY, "#{ROOT}/bench/idle.rb", verbose: false
  end

  desc "Measure the time and memory for files with a million timeline events (2 minutes)"
  task files: "compile:shipped" do
    sh({ "CARGO_TARGET_DIR" => File.join(BUILD, "target") }, RUBY, "#{ROOT}/bench/files.rb", verbose: false)
  end

  desc "Measure how fast the page opens a profile with a million events and 100,000 stacks, and reacts to the mouse (4 minutes; BENCH_RUNS)"
  task viewer: %w[compile:shipped viewer:packages] do
    require "tmpdir"
    Dir.mktmpdir("viewer") do |directory|
      file, html = %w[big.pb.gz big.html].map { |name| File.join(directory, name) }
      sh({ "CARGO_TARGET_DIR" => File.join(BUILD, "target") }, *%w[cargo run --quiet --release --locked --package profiler_core --example big_file --], file, "1000000", "100000", chdir: ROOT, verbose: false)
      sh RUBY, "-I", "#{ROOT}/lib", "#{ROOT}/exe/profiler", "convert", file, html, verbose: false
      sh "node", "build.mjs", "--bench", chdir: VIEWER, verbose: false
      sh "node", "build/bench/speed.mjs", html, chdir: VIEWER, verbose: false
    end
  end

  desc "Measure a window for a backend: its bytes, and the CPU time to encode, send and receive it (1 minute; BENCH_WINDOWS=a folder of folders of windows)"
  task uploads: "compile:shipped" do
    sh RUBY, "#{ROOT}/bench/uploads.rb", verbose: false
  end

  desc "Count how often profiler diff is right about the same program, and about a slower one (11 minutes)"
  task changes: "compile:shipped" do
    sh RUBY, "#{ROOT}/bench/changes.rb", verbose: false
  end
end
