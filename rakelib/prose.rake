# frozen_string_literal: true

# Paths that obey the rules of rakelib/prose.rb, checked by rake lint. Still to come: ext, ARCHITECTURE.md and CONTRIBUTING.md.
PROSE = %w[lib spec sig rakelib docs README.md].freeze

namespace :lint do
  desc "Check the English of comments, documents and messages; rake lint:prose[ext,README.md] checks these paths"
  task :prose do |_task, paths|
    checked = paths.extras.empty? ? PROSE : paths.extras
    sh(RUBY, "#{ROOT}/rakelib/prose.rb", *checked, verbose: false) { |passed, _| abort "lint:prose: see above" unless passed }
  end
end
