# frozen_string_literal: true

# Paths whose English rake lint checks by the rules of rakelib/prose.rb.
PROSE = %w[ext lib spec sig rakelib bench docs README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md].freeze

namespace :lint do
  desc "Check the English of comments, documents and messages; rake lint:prose[ext,README.md] checks these paths"
  task :prose do |_task, paths|
    checked = paths.extras.empty? ? PROSE : paths.extras
    sh(RUBY, "#{ROOT}/rakelib/prose.rb", *checked, verbose: false) { |passed, _| abort "lint:prose: see above" unless passed }
  end
end
