# frozen_string_literal: true

# Paths whose sentences rake lint measures with rakelib/prose.rb.
PROSE = %w[ext lib spec sig rakelib bench docs viewer/src README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md].freeze

namespace :lint do
  desc "Find sentences of more than 40 words in comments and documents; rake lint:prose[ext,README.md] checks these paths"
  task :prose do |_task, paths|
    checked = paths.extras.empty? ? PROSE : paths.extras
    sh(RUBY, "#{ROOT}/rakelib/prose.rb", *checked, verbose: false) { |passed, _| abort "lint:prose: see above" unless passed }
  end

  desc "Advice on English from Vale, with the rules of rakelib/vale; it never fails (go install github.com/errata-ai/vale/v3/cmd/vale@v3.15.2)"
  task :prose_advice do |_task, paths|
    next left_out("vale", "not installed") unless here?("vale", "--version")

    checked = paths.extras.empty? ? PROSE : paths.extras
    sh "vale", "--config", "#{ROOT}/rakelib/vale/vale.ini", "--no-exit", "--output", "line", *checked, verbose: false
  end
end
