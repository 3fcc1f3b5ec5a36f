# frozen_string_literal: true

require "json"

# Most crashes take longer than a minute to appear. The heap program, spec/programs/stress/heap.rb, makes and collects code and objects; the parts in
# spec/programs/stress/parts each do one thing that harms a profiled process. Each file says why the part exists.

# The heap program four ways: all at once; with sessions of objects alone; one thread, so that compaction happens between known
# points; and one thread that collects at every allocation.
STRESS_HEAP = {
  "threads" => { share: 0.14, env: {} },
  "objects" => { share: 0.05, env: { "OBJECTS_ALONE" => "1" } },
  "alone" => { share: 0.05, env: { "THREADS" => "0" } },
  "gc_stress" => { share: 0.05, env: { "THREADS" => "0", "GC_STRESS" => "1" } }
}.freeze
# Signals come to the main thread at any instruction, exceptions of threads only where a thread had lost its turn: so they get more.
STRESS_PARTS = {
  "signals" => 0.1, "blocks" => 0.05, "into_sessions" => 0.08, "into_labels" => 0.06, "into_requests" => 0.06, "dying_threads" => 0.06, "deep_stacks" => 0.06,
  "processes" => 0.04, "slow_files" => 0.03, "limits" => 0.03, "ractors" => 0.02, "ractor_births" => 0.03, "dumps" => 0.03, "live" => 0.05, "rotations" => 0.03, "periods" => 0.08, "snapshots" => 0.05, "traces" => 0.05, "memory" => 0.04,
  "all" => 0.06
}.freeze
STRESS_MODES = %w[cpu wall objects all].freeze

# The runs of the parts: name, environment, seconds and command of each.
def stress_runs(seconds)
  heap = STRESS_HEAP.map do |name, way|
    ["heap #{name}", way[:env], seconds * way[:share], [RUBY, "-I#{ROOT}/lib", "#{ROOT}/spec/programs/stress/heap.rb"]]
  end
  parts = STRESS_PARTS.to_a.product(STRESS_MODES).map do |(name, share), mode|
    ["#{name} #{mode}", { "STRESS_MODE" => mode }, seconds * share / STRESS_MODES.size, [RUBY, "#{ROOT}/spec/programs/stress/run.rb", name]]
  end
  picked = ENV["STRESS_PARTS"]&.split(",")
  (heap + parts).select { |name,| picked.nil? || picked.include?(name[/\w+/]) }
end

# The counts that a run printed, added to those of the runs before.
def add_stress_counts(totals, lines)
  lines.grep(/^(?:OK|BAD) \S+ \{/).each do |line|
    JSON.parse(line[/\{.*\}/]).each { |name, count| totals[name] += count if count.is_a?(Numeric) }
  end
end

namespace :check do
  desc "Try to crash it for STRESS_MINUTES (30) on each of MATRIX (this Ruby; e.g. 3.1,3.3,3.4,yjit), side by side (STRESS_PARTS picks)"
  task :stress do
    minutes = Float(ENV.fetch("STRESS_MINUTES", "30"))
    picked = ENV.fetch("MATRIX", RUBY_VERSION[/\A\d+\.\d+/]).split(",")
    mkdir_p "#{ROOT}/tmp/stress", verbose: false
    runs = picked.map do |version|
      command = in_slot("stress", RUBIES.merge("yjit" => YJIT_RUBY).fetch(version))
      log = "#{ROOT}/tmp/stress/#{version}.log"
      puts "Ruby #{version}: #{minutes} minutes, log in #{log}"
      [version, log, spawn(*command, "-S", "rake", "stress:here[#{minutes},#{ENV["STRESS_PARTS"].to_s.tr(",", "+")}]", chdir: ROOT, %i[out err] => [log, "w"])]
    end
    failed = runs.reject { |_version, _log, pid| Process.wait2(pid).last.success? }
    runs.each { |version, log, _pid| puts "#{version}: #{File.readlines(log).grep(/^(BAD|WRONG|HANG|FAILED|TOTAL)|BUG|rror/).first(20).join("     ")}" }
    abort "check:stress: failed on #{failed.map(&:first).join(", ")}" if failed.any?
  end
end

namespace :check do
  desc "Rotate a session WEEK_ROTATIONS (60000) times on each of MATRIX (this Ruby), while code and threads come and go: no resource may grow"
  task :week do
    ENV.fetch("MATRIX", RUBY_VERSION[/\A\d+\.\d+/]).split(",").each do |version|
      puts "Ruby #{version}"
      sh(*in_slot("stress", RUBIES.fetch(version)), "-S", "rake", "week:here[#{Integer(ENV.fetch("WEEK_ROTATIONS", "60000"))}]", verbose: false)
    end
  end
end

# Run by check:week under each Ruby.
task "week:here", %i[rotations] => :compile do |_task, arguments|
  [[], %w[timeline]].each { |more| sh(RUBY, "-I#{ROOT}/lib", "#{ROOT}/spec/programs/rotation/week.rb", arguments[:rotations], *more, verbose: false) }
end

# Run by check:stress under each Ruby.
task "stress:here", %i[minutes parts] => :compile do |_task, arguments|
  ENV["STRESS_PARTS"] = arguments[:parts].tr("+", ",") unless arguments[:parts].to_s.empty?
  totals = Hash.new(0)
  runs = stress_runs(Float(arguments[:minutes]) * 60)
  abort "stress: STRESS_PARTS=#{ENV["STRESS_PARTS"]} names no part (allowed: heap, #{STRESS_PARTS.keys.join(", ")})" if runs.empty?
  failed = runs.reject do |name, env, seconds, command|
    puts "== #{name}, #{seconds.round} s"
    lines = IO.popen(env.merge("STRESS_SECONDS" => seconds.to_s), command, err: %i[child out]) { |io| io.each_line.map { |line| line.scrub.tap { |entry| puts entry } } }
    add_stress_counts(totals, lines)
    $?.success?
  end
  puts "TOTAL #{RUBY_VERSION} #{JSON.generate(totals.sort.to_h)}"
  abort "FAILED #{failed.map(&:first).join(", ")}" if failed.any?
end

namespace :check do
  desc "Attach ATTACH_ROUNDS (50) times under each kind of load, kill ATTACH_KILLS (20) attachers of each, and attach to ATTACH_TARGETS (20) " \
       "processes that are killed, and to as many that have just started, on each of MATRIX (this Ruby)"
  task :attach do
    ENV.fetch("MATRIX", RUBY_VERSION[/\A\d+\.\d+/]).split(",").each do |version|
      numbers = { "ATTACH_ROUNDS" => "50", "ATTACH_KILLS" => "20", "ATTACH_TARGETS" => "20" }.map { |name, default| Integer(ENV.fetch(name, default)) }
      sh(*in_slot("stress", RUBIES.fetch(version)), "-S", "rake", "attach:here[#{numbers.join(",")}]", verbose: false)
    end
  end
end

# Run by check:attach under each Ruby.
task "attach:here", %i[rounds kills targets] => :compile do |_task, arguments|
  env = { "ATTACH_ROUNDS" => arguments[:rounds], "ATTACH_KILLS" => arguments[:kills], "ATTACH_TARGETS" => arguments[:targets] }
  %w[run short_lives].each { |name| sh(env, RUBY, "-I#{ROOT}/lib", "#{ROOT}/spec/programs/attach/#{name}.rb", verbose: false) }
end
