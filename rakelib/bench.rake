# frozen_string_literal: true

# The numbers go to tmp/bench/*.md as well. BENCH_SECONDS (of CPU, a slice) and BENCH_PAIRS shorten a run.
def bench(name)
  sh RUBY, "#{ROOT}/bench/run.rb", name, verbose: false
end

desc "Measure the overhead against the floor and stackprof (quiet machine, 12 minutes)"
task(bench: :compile) { bench("overhead") }

namespace :bench do
  desc "Measure what a sample costs at depth 10, 50, 200 and 1000 (25 minutes)"
  task(cost: :compile) { bench("cost") }

  desc "Measure the handler alone against a bare rb_profile_frames (3 minutes)"
  task(handler: :compile) { bench("handler") }

  desc "Measure how many ticks come, by engine, and what they take (12 minutes)"
  task(engines: :compile) { bench("engines") }

  desc "Measure how far profiles are from the truth that programs keep of themselves, stackprof's too (15 minutes)"
  task(accuracy: :compile) { bench("accuracy") }

  desc "Measure how many system calls that wait are ended by a signal, stackprof's too (6 minutes)"
  task(eintr: :compile) { bench("eintr") }

  desc "Measure what it takes to start and to stop (1 minute)"
  task(start_stop: :compile) { bench("start_stop") }

  desc "Measure what names cost when a session stops (1 minute)"
  task(names: :compile) { bench("names") }

  desc "Measure stops and GC while 32 threads start and stop sessions (75 seconds)"
  task(churn: :compile) { bench("churn") }
end
