# frozen_string_literal: true

require_relative "lib/profiler/version"

Gem::Specification.new do |spec|
  spec.name = "profiler"
  spec.version = Profiler::VERSION
  spec.summary = "A profiler for CRuby whose numbers add up, cheap enough for production"
  spec.description = <<~TEXT
    Tells where the time and the memory of a Ruby program go: which method, on which line, in which thread, and why it
    waited. Runs inside the process, weighs samples by the threads' own clocks and the VM's own count of objects, says
    what was lost and what it cost, and writes what pprof, speedscope, the Firefox Profiler and browsers open. The
    extension is written in Rust.
  TEXT
  spec.authors = ["The profiler authors"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"
  spec.metadata["rubygems_mfa_required"] = "true"

  # cargo builds with --locked: that needs the lock, and the manifest of every member of the workspace.
  spec.files = Dir.glob(%w[
    Cargo.{toml,lock} ext/*/Cargo.toml ext/*/{extconf,build}.r{b,s} ext/*/src/**/*
    lib/**/*.rb sig/**/*.rbs exe/* viewer/page.html docs/{,cases/,cli/}*.md README.md CHANGELOG.md ARCHITECTURE.md LICENSE
  ], base: __dir__).select { |file| File.file?(File.join(__dir__, file)) && !file.match?(%r{\Aext/.*/tests(/|\.rs\z)}) }
  spec.extensions = ["ext/profiler/extconf.rb"]
  spec.bindir = "exe"
  spec.executables = ["profiler"]
end
