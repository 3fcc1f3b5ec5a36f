# frozen_string_literal: true

# cargo test says "ok" when a filter matches no test or a file is compiled to nothing. That is not a success.
def cargo_test(env, *command)
  ran = 0
  puts command.join(" ")
  IO.popen(env, command, chdir: ROOT) do |output|
    output.each_line do |line|
      puts line
      ran += line[/\Atest result: .* (\d+) passed/, 1].to_i
    end
  end
  abort "#{command.join(" ")} failed" unless $?.success?
  abort "#{command.join(" ")} ran no test" if ran.zero?
end

OLDEST_RUST = File.read("#{ROOT}/Cargo.toml")[/^rust-version = "([\d.]+)"/, 1] || abort("Cargo.toml has no rust-version")

namespace :check do
  # With another Rust, this would prove nothing.
  desc "Compile everything, tests too, with the oldest Rust that is allowed; there must be no other (bin/in-root trixie has it)"
  task :oldest_rust do
    here = IO.popen(%w[rustc --version], &:read)
    abort "check:oldest_rust: #{here.strip} is not Rust #{OLDEST_RUST}" unless here.start_with?("rustc #{OLDEST_RUST}.")

    puts here
    env = { "RUBY" => RUBY, "CARGO_TARGET_DIR" => File.join(BUILD, "oldest_rust") }
    sh env, "cargo", "check", "--locked", "--quiet", "--workspace", "--all-targets", "--all-features"
  end
end

namespace :test do
  desc "Run the tests of profiler_core, which need no Ruby, but for the bombs (TEST=part of a name)"
  task :rust do
    cargo_test({}, "cargo", "test", "--locked", "--package", "profiler_core", *ENV["TEST"], "--", "--skip", "bombs::")
  end

  # Unoptimised, they take seven times as long as all of this, its build included.
  desc "Feed the readers small files that would expand to very large ones, with optimised code"
  task bombs: :compile do
    env = { "RUBY" => RUBY, "RUBYOPT" => nil, "CARGO_BUILD_TARGET" => nil } # as extconf.rb has it: else crates are built again
    cargo_test(env, "cargo", "test", "--locked", "--release", "--package", "profiler", "--features", "testing", "--test", "fuzz",
               "--target-dir", TARGET, "--", "bombs::")
  end
end
