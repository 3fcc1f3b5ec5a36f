# frozen_string_literal: true

# The slower checks, one command each. A check that cannot run here fails, and says what is missing.

namespace :check do
  desc "Try every interleaving of the ring and of claims on timers (loom)"
  task :loom do
    env = { "RUSTFLAGS" => "#{ENV["RUSTFLAGS"]} --cfg loom".strip, "CARGO_TARGET_DIR" => "#{ROOT}/tmp/loom" }
    cargo_test(env, "cargo", "test", "--locked", "--release", "--package", "profiler_core", "--test", "ring_loom", "--test", "claim_loom")
  end

  desc "Run the ring's tests under Miri, whose scheduler tries orders that no machine does (TEST=another test file)"
  task :miri do
    miri = [%w[cargo +nightly], %w[cargo]].find { |cargo| system(*cargo, "miri", "--version", out: File::NULL, err: File::NULL) }
    abort "check:miri: no Rust toolchain here has miri. With rustup: rustup toolchain install nightly --component miri,rust-src" unless miri

    # Isolation would forbid the clock and the seed that tests may read; they are not what is checked.
    env = { "MIRIFLAGS" => ENV.fetch("MIRIFLAGS", "-Zmiri-disable-isolation"), "CARGO_TARGET_DIR" => "#{ROOT}/tmp/miri" }
    cargo_test(env, *miri, "miri", "test", "--locked", "--package", "profiler_core", "--test", ENV.fetch("TEST", "ring_contract"))
  end

  desc "Run the specs with the timer of the process, as where threads have none"
  task(setitimer: :compile) do
    ENV["SPEC_ENGINE"] = "setitimer"
    specs
  end

  desc "Send 1,000 windows to a backend, a disk and a resolver that fail, while an app serves and forks (2 minutes; SEED repeats a run)"
  task(uploads: :compile) { sh RUBY, "-I#{ROOT}/lib", "#{ROOT}/spec/programs/uploads/under_faults.rb", verbose: false }

  desc "Send the windows of Puma's processes, under wrk for a minute, to a Collector, and compare (2 minutes; FLEET_SECONDS)"
  task(fleet: :compile) do
    sh({ "FLEET_SECONDS" => ENV.fetch("FLEET_SECONDS", "60") }, RUBY, "-S", "rspec", "#{ROOT}/spec/fleet/puma_spec.rb", verbose: false)
  end

  desc "Profile requests of Redmine, as Debian has it, in Puma (2 minutes; SHOW=1 prints what it found)"
  task(redmine: :compile) do
    sh RUBY, "-S", "rspec", "#{ROOT}/spec/integrations/redmine/redmine_check.rb", verbose: false
  end

  # The headers are this system's, which is enough to check types; nothing is linked.
  desc "Check that both crates compile for macOS (TARGET=x86_64-apple-darwin), with the standard library's sources where rustc has them"
  task :darwin do
    target = ENV.fetch("TARGET", "aarch64-apple-darwin")
    library, sources = %W[#{target}/lib src/rust/library].map { |name| File.join(IO.popen(%w[rustc --print sysroot], &:read).chomp, "lib/rustlib", name) }
    host = IO.popen(%w[rustc -vV], &:read)[/^host: (.+)/, 1]
    env = { "RUBY" => RUBY, "RBCONFIG_target_os" => "darwin", "BINDGEN_EXTRA_CLANG_ARGS" => "--target=#{host}", "CARGO_TARGET_DIR" => "#{ROOT}/tmp/darwin" }
    unless Dir.exist?(library)
      abort "check:darwin: rustc has no standard library for #{target}, nor its sources. With rustup: rustup target add #{target}; Debian: rust-src" unless Dir.exist?(sources)
      env["RUSTC_BOOTSTRAP"] = "1"
      from_sources = %w[-Zbuild-std=std,panic_unwind]
    end
    sh env, "cargo", "check", "--locked", "--workspace", "--target", target, *from_sources
  end

  desc "Run the specs with debug assertions on"
  task(:debug) do
    compile("dev")
    specs
  ensure
    compile("release") # what the next `ruby -Ilib` expects
  end
end
