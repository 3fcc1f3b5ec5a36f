# frozen_string_literal: true

require_relative "spec_run"

def rspec(*options)
  abort "spec: there are no specs" if FileList["spec/**/*_spec.rb"].empty? # rspec would call that a success
  sh RUBY, "-S", "rspec", *options, chdir: ROOT, verbose: false
end

def specs(**options)
  SpecRun.new(ruby: RUBY, root: ROOT, **options).run || abort("spec: failed")
end

# The jobs that run beside the specs: the Rust tests, the linters, the page, and the caller's command. If a job passes, only these lines are shown.
def checks
  jobs = { "test:rust" => /\Atest result: /, "test:bombs" => /\Atest result: /, "lint" => /\A(ruby -wc|prose|lint): /, "viewer:test" => /\A# (pass|fail) / }.map do |task, summary|
    Job.new(name: "rake #{task}", command: [RUBY, "-S", "rake", task], seconds: 200, summary: summary)
  end
  beside = ENV["BESIDE_SPECS"] or return jobs
  jobs << Job.new(name: beside, command: beside.split, seconds: 300, summary: /\Arustc /)
end

desc "Run the specs, several files at once, then the timed ones (SPEC=file or file:line runs it alone, SPEC_OPTS=options of rspec)"
task spec: :compile do
  next rspec(*ENV["SPEC"].split) if ENV["SPEC"]

  specs
end

namespace :spec do
  desc "Run the specs that do not compare with clocks, several files at once"
  task(untimed: :compile) { specs(parts: %i[untimed]) }

  desc "Run the specs that compare with clocks, one after another (SPEC_STRICT=1 measures none again)"
  task(timed: :compile) { specs(parts: %i[timed]) }
end

# The work of the default task after compiling.
task all: :compile do
  specs(jobs: checks)
end

# The folders of specs that a change of a path is likely to break. The last line is for all other code.
SPECS_OF = {
  %r{\A(lib/profiler/(control|cli/(top|dump|ps|start|stop|snapshot|remote))|ext/\w+/src/control)} => %w[live],
  %r{\A(lib/profiler/cli|exe/)} => %w[cli],
  %r{\Alib/profiler/(middleware|permission|pprof|recording|in_rails|rails|sidekiq)} => %w[integrations],
  %r{\Alib/profiler/(autoload|rspec|minitest)} => %w[integrations/autoload_spec.rb integrations/test_suites_spec.rb cli],
  %r{\Alib/profiler/(periods|process|store|always_on)} => %w[api/periods_spec.rb api/continuous_spec.rb api/continuous_processes_spec.rb api/flight_spec.rb],
  %r{\Aext/profiler_core/src/(format|text|upload)} => %w[formats cli],
  %r{\Aext/profiler_core/src/analysis} => %w[cli modes],
  %r{\Aext/profiler/src/naming} => %w[names],
  %r{\Aext/profiler/src/(labels|options)} => %w[api],
  %r{\Aext/profiler/src/engine} => %w[engines laws],
  %r{\Aspec/.*_spec\.rb\z} => [],
  %r{\A(lib|sig|ext)/} => %w[api laws modes]
}.freeze

# The specs for the files that differ from the last commit, or for the last commit if none differs.
def specs_of_changes
  changed = `git -C #{ROOT} status --porcelain --untracked-files=all`.lines.map { |line| line[3..].chomp }
  changed = `git -C #{ROOT} diff --name-only HEAD~1`.lines.map(&:chomp) if changed.empty?
  folders = changed.flat_map { |path| SPECS_OF.find { |room, _| path.match?(room) }&.last || [] }
  (folders.map { |folder| "spec/#{folder}" } + changed.grep(%r{\Aspec/.*_spec\.rb\z}) + ["spec/project"]).uniq.select { |path| File.exist?(File.join(ROOT, path)) }
end

desc "Run the Rust tests, the linters, and the untimed specs of what was changed last (5 minutes at most)"
task quick: :compile do
  specs(jobs: checks, picked: specs_of_changes, parts: %i[untimed])
end
