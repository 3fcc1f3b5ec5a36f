# frozen_string_literal: true

# The build directory of this Ruby, because bindings differ. It is kept, so a build after a small change takes a second.
BUILD = File.join(ROOT, "tmp", RbConfig::CONFIG["arch"], RbConfig::CONFIG["ruby_version"])
TARGET = ENV.fetch("PROFILER_TARGET_DIR", File.join(BUILD, "target"))

# Through the same extconf.rb and Makefile that `gem install` uses. One at a time: jobs beside the specs compile, too. The library is
# profiler/profiler.so in the directory `into`.
def compile(profile, features: ENV.fetch("PROFILER_CARGO_FEATURES", "testing"), into: "#{ROOT}/lib")
  env = {
    "PROFILER_CARGO_PROFILE" => profile,
    "PROFILER_CARGO_FEATURES" => features,
    "PROFILER_TARGET_DIR" => TARGET,
    "RUBYOPT" => nil # what is tried out on the specs must not change build tools
  }
  mkdir_p BUILD, verbose: false
  File.open(File.join(BUILD, "compile.lock"), File::RDWR | File::CREAT) do |lock|
    lock.flock(File::LOCK_EX)
    sh env, RUBY, "#{ROOT}/ext/profiler/extconf.rb", chdir: BUILD, verbose: false
    sh env, "make", "--silent", "Q=@", "install", "sitearchdir=#{into}", chdir: BUILD, verbose: false
  end
end

desc "Build the extension into lib/, optimised (PROFILER_CARGO_PROFILE=another profile)"
task(:compile) { compile(ENV.fetch("PROFILER_CARGO_PROFILE", "release")) }

namespace :compile do
  # Applies to the rest of this rake run, so that `rake compile:dev spec` tests what it built.
  desc "Build the extension unoptimised, with debug assertions"
  task :dev do
    ENV["PROFILER_CARGO_PROFILE"] = "dev"
    Rake::Task[:compile].invoke
  end

  desc "Build the extension as it is shipped, plus what tests need (PROFILER_CARGO_PROFILE=another profile)"
  task(:shipped) { compile(ENV.fetch("PROFILER_CARGO_PROFILE", "gem")) }
end
