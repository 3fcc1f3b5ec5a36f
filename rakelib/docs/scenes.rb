# frozen_string_literal: true

module Docs
  # Commands of the documents that do not run here, and why. Their syntax is checked, and the options of +profiler+.
  COMMANDS = {
    /\A(gem (build|install)|MATRIX=)/ => "compiles for minutes: check:package and check:fresh do so",
    /\Arake package:native/ => "makes Debian roots, as root: check:fresh uses its gem",
    %r{\Abin/(demo|test|setup)} => "installs packages of the system: check:fresh runs it",
    /\A(docker|kubectl) exec/ => "there is no container here: the same command runs without one",
    /\Aprofiler top/ => "a screen of a terminal: spec/live has one"
  }.freeze

  # Blocks that are neither of Ruby nor of a shell.
  LANGUAGES = {
    "alloy" => "the configuration of Grafana Alloy, which is not here",
    "dockerfile" => "there is no Docker here: check:fresh runs its commands",
    "text" => "output without a command",
    "yaml" => "the configuration of another program, read as YAML"
  }.freeze

  # A process with a control socket, for `PID` in a block.
  SERVER = "PROFILER_CONTROL=1 APP_SECONDS=60 RUBYOPT=-rprofiler/autoload ruby server.rb & pid=$!; sleep 1.5"

  # The same with programs/tracing, and with calls that take half a second.
  SLOW_SERVER = "export SLOW=1 PROFILER_FLIGHT=1; #{SERVER}"

  # The needs of blocks beside the programs of programs/common, by their headings:
  #
  # +programs+:: directories of programs/ with files that it names
  # +before+:: commands of the shell that come first
  # +edit+:: other words in place of some of its own
  # +output+:: Rubies whose output it shows; with others it only runs
  # +prelude+:: what Ruby requires first, in programs/
  # +with+:: a program in place of Ruby, for the file of the block
  # +parsed+:: why it is only parsed
  SCENES = {
    "README.md: Profile a command" => { programs: "readme", output: "~> 3.1.0" },
    "docs/allocations.md: Test how much code allocates" => { prelude: "./expectations" },
    "docs/attach.md: Attach to a process that has not loaded profiler" => { before: "APP_SECONDS=100 ruby app.rb & pid=$!; sleep 2.5" },
    "docs/attach.md: Without attaching" => { programs: "outside", before: "ruby shop.rb & pid=$!; sleep 1" },
    "docs/cli.md: Command line" => {
      before: "#{SERVER}; mkdir profiles; cp sample.pb.gz profiles/20261122T003012.123-4711-9f86d081.pb.gz",
      edit: { "main.pb.gz" => "cpu.pb.gz" } # the same run, so without a regression
    },
    "docs/cli.md: Options and environment variables" => {
      before: "export APP_SECONDS=3",
      edit: { "ruby app.rb" => "ruby app.rb & until [ -s app.pid ]; do sleep 0.1; done; sleep 0.5; pid=$(cat app.pid)" }
    },
    "docs/findings.md: Findings" => { prelude: "./orders" },
    "docs/formats.md: Comparing" => {
      before: "export GITHUB_STEP_SUMMARY=summary.md; mkdir bench; cp app.rb bench/checkout.rb
               for i in 1 2 3; do profiler record -q -o main$i.pb.gz -- ruby bench/checkout.rb; done"
    },
    "docs/from-rperf.md: Open your existing files" => {
      before: "gzip -c $DOCS/../../spec/fixtures/shop.rperf.json > rperf.json.gz; profiler convert sample.pb.gz a.folded; mv a.folded rperf.collapsed"
    },
    "docs/from-stackprof.md: Open your existing files" => { before: "ruby -rstackprof -e 'StackProf.run(out: %(stackprof.dump)) { load %(app.rb) }'" },
    "docs/from-vernier.md: Open your existing files" => { before: "gzip -c $DOCS/../../spec/fixtures/shop.vernier.json > old.vernier.json.gz" },
    "docs/live.md: Look into a running process" => { programs: "live", output: "~> 3.1.0" },
    "docs/live.md: Start, stop, snapshot: a session in the running process" => { before: SERVER },
    "docs/getting-started.md: The program, 2" => { programs: "started", prelude: "./sales" },
    "docs/getting-started.md: Record it" => { programs: "started", output: "~> 3.1.0" },
    "docs/getting-started.md: Read it" => {
      programs: "started", before: "ruby sales.rb; profiler record -q -o before.pb.gz -- ruby totals.rb > out", output: "~> 3.1.0",
      edit: { /profiler annotate .*/ => "script -qec 'stty cols 80; \\0' /dev/null" } # a terminal, which cuts lines
    },
    "docs/getting-started.md: Change it, and compare, 2" => {
      programs: "started", before: "ruby sales.rb; profiler record -q -o before.pb.gz -- ruby totals.rb > out; cp faster.rb totals.rb", output: "~> 3.1.0"
    },
    "docs/memory.md: Where the memory of a process is" => { programs: "store" },
    "docs/memory.md: Why objects are alive" => { programs: "store", before: SERVER },
    "docs/memory.md: Which code allocates it, 3" => { programs: "lost" },
    "docs/memory.md: Over time, 2" => { edit: { "ruby server.rb" => "timeout 2 ruby server.rb || true" } },
    "docs/memory.md: What to do" => { before: SERVER },
    "docs/options.md: The profile, 2" => { prelude: "./profiles" },
    "docs/fleet.md: Pull" => { prelude: "./web" },
    "docs/install.md: Bundler" => { prelude: "./gemfile" },
    "docs/rack.md: One request of a Rack app" => { with: "rackup", prelude: "./web" },
    "docs/rack.md: One request of a Rack app, 2" => { programs: "orders", before: "puma & sleep 2" },
    "docs/rack.md: How many requests, and how long they took" => {
      before: "ruby users.rb", edit: { /profiler report .*/ => "script -qec 'stty cols 120; \\0' /dev/null" } # a wide terminal
    },
    "docs/rack.md: Storage" => { prelude: "./web" },
    "docs/rails.md: Rails" => { prelude: "./gemfile" },
    "docs/rails.md: Rails, 2" => { prelude: "./rails_app" },
    "docs/rails.md: Jobs of Active Job" => { prelude: "./rails_app" },
    "docs/recipes.md: A slow script" => { programs: "recipes", before: "ruby bank.rb &", output: ">= 3.3" },
    "docs/recipes.md: A slow request" => { programs: "orders", before: "puma & sleep 2" },
    "docs/recipes.md: A slow job" => { programs: "recipes", before: "ruby jobs.rb" },
    "docs/recipes.md: A slow test suite" => { programs: "recipes" },
    "docs/recipes.md: Slow boot" => { programs: "recipes" },
    "docs/recipes.md: A leak" => { programs: "leak", before: SERVER, edit: { "--duration 60" => "--duration 3" } },
    "docs/recipes.md: Memory that no object explains" => { before: SERVER },
    "docs/recipes.md: Too many objects" => { programs: "recipes" },
    "docs/recipes.md: Threads in each other's way" => { programs: "threads", output: ">= 3.3" },
    "docs/recipes.md: \"It was slow last night\"" => { programs: "recipes", before: "ruby night.rb" },
    "docs/recipes.md: A process that hangs now" => { programs: "hangs", before: SERVER.sub("server", "shop"), output: ">= 3.3" },
    "docs/sessions.md: One request of an app" => { prelude: "./web" },
    "docs/sidekiq.md: Sidekiq" => { prelude: "./sidekiq_server" },
    "docs/tests.md: A whole suite" => { programs: "recipes" },
    "docs/tests.md: Single examples in RSpec" => { with: "rspec" },
    "docs/tests.md: Single examples in RSpec, 2" => { programs: "recipes" },
    "docs/tests.md: Single tests in minitest" => { prelude: "./import_test" },
    "docs/tracing.md: Trace every call of a method" => {
      programs: "tracing", before: SERVER, edit: { /\Aprofiler trace 4711/ => "timeout --preserve-status --signal INT 3 \\0" }
    },
    "docs/tracing.md: Trace every call of a method, 2" => { programs: "tracing", prelude: "./import" },
    "docs/tracing.md: Trace every call of a method, 3" => { programs: "tracing", prelude: "./import" },
    "docs/tracing.md: What you see" => { programs: "tracing", before: SERVER, edit: { "--for 10" => "--for 4" } },
    "docs/tracing.md: All methods of a class" => { programs: "tracing", before: SERVER, edit: { "--for 10" => "--for 4" } },
    "docs/tracing.md: C functions" => {
      programs: "tracing", before: SERVER, edit: { "--for 10" => "--for 2", "PG::Connection#exec_params" => "IO#write" } # there is no database
    },
    "docs/tracing.md: What runs inside, exactly" => { programs: "tracing", before: SERVER },
    "docs/tracing.md: What runs inside, exactly, 2" => { programs: "tracing", prelude: "./import" },
    "docs/tracing.md: A line for each call" => { programs: "tracing", before: SLOW_SERVER, edit: { "--when" => "--for 5 --when" } },
    "docs/tracing.md: Which lines it ran" => { programs: "tracing", before: SLOW_SERVER },
    "docs/tracing.md: What else happened then" => { programs: "tracing", before: SLOW_SERVER },
    "docs/tracing.md: A profile of the slow calls only" => { programs: "tracing", before: SLOW_SERVER, edit: { "--for 60" => "--for 5" } },
    "docs/tracing.md: In Ruby" => { programs: "tracing", prelude: "./import" }
  }.freeze
end
