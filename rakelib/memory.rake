# frozen_string_literal: true

require "open3"
require "rbconfig"

# Finds reads and writes outside of allocated memory, or after it was freed. There are two tools, since neither sees everything:
#
# AddressSanitizer instruments every access of the extension, at nearly full speed, but none of Ruby's: what Ruby does to freed
# memory on our behalf passes it by. Valgrind sees the whole process, slowly. Ruby scans its stacks for addresses, words that were
# never set among them, so Valgrind asks nothing about those; and reports without a frame of ours are Ruby's own.
#
# The ends of machine stacks are left out. What both tools put around each call of the C library overflows the space that Ruby
# leaves there. Ruby then jumps out of it, locks and all.
MEMORY_PARTS = ENV.fetch("STRESS_PARTS", "dying_threads,into_labels,into_sessions,into_requests,signals,processes").split(",").freeze
# Ruby jumps out of frames and between stacks.
ASAN_OPTIONS = "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_abort=0:use_sigaltstack=0:detect_stack_use_after_return=0:" \
               "detect_odr_violation=0:abort_on_error=1"
VALGRIND = %w[valgrind --quiet --undef-value-errors=no --fair-sched=yes --trace-children=no --fullpath-after=].freeze
OURS = %r{\bprofiler(_core)?::|profiler\.so|ext/profiler(_core)?/src/}

# Runs the parts for STRESS_SECONDS (20) each. Returns the names of those that failed.
def memory_runs(env, parts = MEMORY_PARTS)
  seconds = ENV.fetch("STRESS_SECONDS", "20")
  parts.reject do |part|
    puts "== #{part}"
    system(env.merge("STRESS_SECONDS" => seconds, "STRESS_HANG" => "120"), RUBY, "#{ROOT}/spec/programs/stress/run.rb", part)
  end
end

# The read of freed memory that the extension does for this, under a tool, which proves that the tool would find others.
READ_FREED = %w[-rprofiler -e Profiler.start.discard;Profiler::Testing.read_freed].freeze

# A copy of lib/ with another build of the extension in it.
def lib_with(extension, directory)
  rm_rf directory, verbose: false
  mkdir_p directory, verbose: false
  cp_r "#{ROOT}/lib", directory, verbose: false
  cp extension, "#{directory}/lib/profiler/profiler.so", verbose: false
  "#{directory}/lib"
end

# The reports of Valgrind about us: an error with a frame of ours, at an address in or beside a block of the heap, or at none that is
# mapped. Ruby changes between stacks in ways that Valgrind does not follow: it takes the stacks of fibers and threads, which are
# anonymous segments with the thread's own variables above, for out of bounds.
def valgrind_reports(files)
  blocks = files.flat_map { |file| File.read(file).scrub.gsub(/^==\d+== ?/, "").split(/^\n/) }
  blocks.grep(/^Invalid|^Mismatched|^Process terminating/).grep(OURS).grep_v(/is on thread \d+'s stack|is in a rw- anonymous segment/)
end

namespace :check do
  desc "Stress the extension under AddressSanitizer (needs a nightly Rust and libasan; STRESS_SECONDS a part, STRESS_PARTS)"
  task :asan do
    toolchain = %w[cargo +nightly]
    abort "check:asan: no nightly Rust here. With rustup: rustup toolchain install nightly" unless
      system(*toolchain, "--version", out: File::NULL, err: File::NULL)
    runtime = IO.popen(%w[gcc -print-file-name=libasan.so], &:read).strip
    abort "check:asan: no libasan.so. On Debian: apt-get install gcc" unless File.exist?(runtime)

    target = "#{RbConfig::CONFIG["host_cpu"]}-unknown-linux-gnu" # said aloud, so that build scripts are not instrumented
    built = File.join(BUILD, "asan")
    # Not the stacks: Ruby jumps out of frames and between stacks, after which what lay there still counts as out of scope.
    flags = "-Zsanitizer=address -Cllvm-args=-asan-stack=0"
    sh({ "RUBY" => RUBY, "RUSTFLAGS" => flags, "RUBYOPT" => nil }, *toolchain, "build", "--locked", "--lib", "--package", "profiler",
       "--release", "--features", "testing", "--target", target, "--target-dir", built)
    lib = lib_with("#{built}/#{target}/release/libprofiler.so", "#{built}/ruby")
    env = { "STRESS_LIB" => lib, "STRESS_PRELOAD" => File.realpath(runtime), "ASAN_OPTIONS" => ASAN_OPTIONS }
    control = { "LD_PRELOAD" => env["STRESS_PRELOAD"], "ASAN_OPTIONS" => "#{ASAN_OPTIONS}:exitcode=42" }
    _said, status = Open3.capture2e(control, RUBY, "-I#{lib}", *READ_FREED)
    abort "check:asan: the sanitizer let a read of freed memory pass" unless [6, 42].include?(status.termsig || status.exitstatus)

    failed = memory_runs(env)
    abort "check:asan: failed in #{failed.join(", ")}" if failed.any?
  end

  desc "Stress the extension under Valgrind, in search of what Ruby does to freed memory on our behalf (STRESS_SECONDS a part)"
  task valgrind: :compile do
    abort "check:valgrind: no valgrind here. On Debian: apt-get install valgrind" unless
      system("valgrind", "--version", out: File::NULL, err: File::NULL)

    logs = "#{ROOT}/tmp/valgrind"
    rm_rf logs, verbose: false
    mkdir_p logs, verbose: false
    system(*VALGRIND, "--log-file=#{logs}/control.log", RUBY, "-I#{ROOT}/lib", *READ_FREED) || abort("check:valgrind: Ruby does not run under Valgrind")
    abort "check:valgrind: Valgrind let a read of freed memory pass" if valgrind_reports(["#{logs}/control.log"]).empty?
    rm "#{logs}/control.log", verbose: false

    failed = memory_runs({ "STRESS_WRAPPER" => [*VALGRIND, "--log-file=#{logs}/%p.log"].join(" ") })
    files = Dir["#{logs}/*.log"]
    abort "check:valgrind: Valgrind wrote no log" if files.empty?
    reports = valgrind_reports(files)
    puts reports.first(5)
    abort "check:valgrind: #{reports.size} invalid reads and writes of ours; failed in #{failed.join(", ")}" if reports.any? || failed.any?
  end
end
