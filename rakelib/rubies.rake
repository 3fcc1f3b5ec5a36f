# frozen_string_literal: true

# The other Rubies live in Debian roots, which bin/in-root makes when they are needed (2 minutes and 1 GB each).
# Each builds in a copy of this checkout, so none disturbs another or this one.

ROOTS = ENV["PROFILER_ROOTS"] || File.join(Dir.home, ".cache/profiler/roots")

RUBIES = {
  "3.3" => %w[bin/in-root trixie ruby],
  "3.4" => %w[bin/in-root sid ruby3.4],
  RUBY_VERSION[/\A\d+\.\d+/] => [RUBY] # this one
}.sort.to_h.freeze

YJIT = "/opt/ruby-yjit" # in the root
YJIT_RUBY = [*%w[bin/in-root trixie env RUBY_YJIT_ENABLE=1], "GEM_PATH=#{YJIT}/lib/ruby/gems/3.3.0:/usr/share/rubygems-integration/all",
             "sh", "-c", "export PATH=#{YJIT}/bin:$PATH; exec ruby \"$@\"", "ruby"].freeze

# A command that runs in a root, in a copy of the checkout of that name.
def in_slot(name, command)
  command.first == "bin/in-root" ? command.dup.insert(1, "--slot", name) : command
end

# Prints the table in any case, and fails if one Ruby failed.
def in_turn(runs)
  results = runs.to_h do |name, command|
    puts "\n== #{name}: #{command.grep(String).join(" ")}"
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    passed = system(*command, chdir: ROOT)
    [name, [passed, Process.clock_gettime(Process::CLOCK_MONOTONIC) - started]]
  end
  puts
  results.each { |name, (passed, seconds)| puts format("%-10s %-6s %4d s", name, passed ? "passed" : "FAILED", seconds) }
  failed = results.reject { |_name, (passed, _seconds)| passed }.keys
  abort "failed on #{failed.join(", ")}" if failed.any?
end

namespace :check do
  desc "Compile and run the specs on this Ruby, 3.3 and 3.4 (MATRIX=3.3,3.4 picks)"
  task :matrix do
    picked = ENV.fetch("MATRIX", RUBIES.keys.join(",")).split(/[\s,]+/)
    unknown = picked - RUBIES.keys
    abort "check:matrix: no Ruby #{unknown.join(", ")}; there are #{RUBIES.keys.join(", ")}" if unknown.any? || picked.empty?

    in_turn(picked.to_h { |version| ["Ruby #{version}", [*RUBIES[version], "-S", "rake", "compile", "spec"]] })
  end

  # Debian builds its Ruby 3.3 without YJIT, and most production Rubies have it. It is built once from Debian's source.
  desc "Run the specs on Ruby 3.3 with YJIT on (the first time, it builds that Ruby: 10 minutes)"
  task :yjit do
    sh(*in_slot("yjit", %w[bin/in-root trixie]), "bin/make-yjit-ruby", YJIT)
    in_turn("3.3 YJIT" => [*in_slot("yjit", YJIT_RUBY), "-S", "rake", "compile", "yjit:spec"])
  end
end

# Run inside the root by check:yjit: without YJIT, the check would prove nothing.
task "yjit:spec" do
  sh RUBY, "-e", "abort 'YJIT is off' unless RubyVM::YJIT.enabled?; puts RUBY_DESCRIPTION", verbose: false
  specs
end
