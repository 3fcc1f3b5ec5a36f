# frozen_string_literal: true

namespace :check do
  # With what an unoptimised build checks: that no number overflows.
  desc "Feed damaged files to the readers for FUZZ_SECONDS (600); FUZZ_SEED repeats a run"
  task :fuzz do
    env = { "FUZZ_SECONDS" => ENV.fetch("FUZZ_SECONDS", "600"), "CARGO_TARGET_DIR" => ENV.fetch("CARGO_TARGET_DIR", "#{ROOT}/tmp/fuzz"),
            "CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS" => "true", "CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS" => "true" }
    cargo_test(env, "cargo", "test", "--locked", "--release", "--package", "profiler_core", "--test", "fuzz", "--", "--nocapture")
  end
end
