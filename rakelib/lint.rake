# frozen_string_literal: true

def ruby_files
  FileList["*.gemspec", "Gemfile", "Rakefile", "bin/*", "exe/*", "{lib,rakelib,spec,bench,examples,ext,docs}/**/*.{rb,rake,ru}"]
    .exclude(%r{/target/}).select { |file| file.match?(/\.(rb|rake|ru|gemspec)\z|file\z/) || script?(file, "ruby") }
end

def shell_files
  FileList["bin/*", ".ci/*"].select { |file| script?(file, "sh") }
end

def script?(file, interpreter)
  File.file?(file) && File.open(file, &:gets).to_s.match?(%r{\A#!.*(?:/|\s)(?:ba)?#{interpreter}\s*$})
end

# Not every system has every linter (Debian's newer Rust comes without clippy). A missing one is skipped with a message.
def left_out(linter, reason)
  warn "lint: #{linter} SKIPPED: #{reason}"
end

def here?(*command)
  system(*command, out: File::NULL, err: File::NULL)
end

# Clippy of Rust 1.85 has warnings that later versions have withdrawn: shifts beside `|` without parentheses, and a String
# collected from format!. Older than the one that we write for, it would fail a checkout in which nothing is wrong.
def clippy_allows
  minor = IO.popen(%w[cargo clippy --version], &:read)[/\b0\.1\.(\d+)/, 1].to_i
  minor <= 85 ? %w[-A clippy::precedence -A clippy::format_collect] : []
end

desc "Run every linter"
task lint: %w[lint:fmt lint:clippy lint:imports lint:ruby lint:shell lint:workflows lint:rbs lint:prose]

namespace :lint do
  desc "Check that the Rust files are formatted"
  task :fmt do
    next left_out("cargo fmt", "not installed") unless here?("cargo", "fmt", "--version")

    sh "cargo", "fmt", "--all", "--check"
  end

  desc "Run clippy on both crates, with and without the features that only specs need"
  task :clippy do
    next left_out("cargo clippy", "not installed") unless here?("cargo", "clippy", "--version")

    [[], ["--all-features"]].each do |features|
      sh({ "RUBY" => RUBY }, "cargo", "clippy", "--locked", "--quiet", "--workspace", "--all-targets", *features, "--", "-D", "warnings", *clippy_allows)
    end
  end

  desc "Check that Ruby has no warnings about its files"
  task :ruby do
    faulty = ruby_files.reject do |file|
      output = IO.popen([RUBY, "-wc", file], err: %i[child out], &:read)
      warn output unless output == "Syntax OK\n"
      output == "Syntax OK\n"
    end
    abort "lint: Ruby warns about #{faulty.join(", ")}" if faulty.any?
    puts "ruby -wc: #{ruby_files.size} files, no warning"
  end

  desc "Run shellcheck on the shell scripts"
  task :shell do
    next left_out("shellcheck", "not installed") unless here?("shellcheck", "--version")

    sh "shellcheck", *shell_files
  end

  desc "Run actionlint on the workflows of GitHub"
  task :workflows do
    next left_out("actionlint", "not installed") unless here?("actionlint", "--version")

    sh "actionlint", *FileList[".github/workflows/*.yml"]
  end

  desc "Check that the signatures in sig/ are valid"
  task :rbs do
    next left_out("rbs", "no sig/ directory") unless Dir.exist?("sig")

    rbs = Gem::Specification.find_all_by_name("rbs").first
    next left_out("rbs", "this Ruby comes without it") unless rbs

    sh RUBY, rbs.bin_file("rbs"), "-I", "sig", "validate", "--silent"
  end
end
