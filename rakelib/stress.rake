# frozen_string_literal: true

# Crashes do not show in a minute. What is run, and why each part of it is there, stands in spec/scripts/stress.rb.

# The same program four ways: all at once; with sessions of objects alone; one thread, so that compaction happens between known
# points; and one thread that collects at every allocation.
STRESS = {
  "threads" => { share: 0.7, env: {} },
  "objects" => { share: 0.1, env: { "OBJECTS_ALONE" => "1" } },
  "alone" => { share: 0.1, env: { "THREADS" => "0" } },
  "gc_stress" => { share: 0.1, env: { "THREADS" => "0", "GC_STRESS" => "1" } }
}.freeze

namespace :check do
  desc "Try to crash it for STRESS_MINUTES (30) on each of MATRIX (this Ruby; e.g. 3.1,3.3,3.4,yjit), side by side"
  task :stress do
    minutes = Float(ENV.fetch("STRESS_MINUTES", "30"))
    picked = ENV.fetch("MATRIX", RUBY_VERSION[/\A\d+\.\d+/]).split(",")
    mkdir_p "#{ROOT}/tmp/stress", verbose: false
    runs = picked.map do |version|
      command = in_slot("stress", RUBIES.merge("yjit" => YJIT_RUBY).fetch(version))
      log = "#{ROOT}/tmp/stress/#{version}.log"
      puts "Ruby #{version}: #{minutes} minutes, log in #{log}"
      [version, log, spawn(*command, "-S", "rake", "stress:here[#{minutes}]", chdir: ROOT, %i[out err] => [log, "w"])]
    end
    failed = runs.reject { |_version, _log, pid| Process.wait2(pid).last.success? }
    runs.each { |version, log, _pid| puts "#{version}: #{File.readlines(log).grep(/^OK|BUG|rror/).first(5).join(" " * 5)}" }
    abort "check:stress: failed on #{failed.map(&:first).join(", ")}" if failed.any?
  end
end

# Run by check:stress under each Ruby.
task "stress:here", [:minutes] => :compile do |_task, arguments|
  STRESS.each do |name, way|
    seconds = Float(arguments[:minutes]) * 60 * way[:share]
    puts "== #{name}, #{seconds.round} s"
    sh way[:env].merge("STRESS_SECONDS" => seconds.to_s), RUBY, "-I#{ROOT}/lib", "#{ROOT}/spec/scripts/stress.rb", verbose: false
  end
end
