# frozen_string_literal: true

VIEWER = File.join(ROOT, "viewer")

namespace :viewer do
  # Installs exactly what package-lock.json lists.
  task :packages do
    installed = File.join(VIEWER, "node_modules/.package-lock.json")
    lock = File.join(VIEWER, "package-lock.json")
    sh "npm", "ci", "--silent", "--no-audit", "--no-fund", chdir: VIEWER, verbose: false unless File.exist?(installed) && File.mtime(installed) >= File.mtime(lock)
  end

  desc "Build viewer/page.html, which is committed: users need no Node"
  task build: :packages do
    sh "node", "build.mjs", chdir: VIEWER, verbose: false
  end

  desc "Test the viewer: that its page is what the source builds to, types, the model against the report, the page in Chromium"
  task test: %i[compile packages] do
    sh "node", "build.mjs", "--check", chdir: VIEWER, verbose: false
    env = { "PROFILER_RUBY" => RUBY, "PROFILER_ROOT" => ROOT }
    %w[types test].each { |script| sh env, "npm", "run", "--silent", script, chdir: VIEWER, verbose: false }
  end
end
