# frozen_string_literal: true

namespace :docs do
  desc "Write docs/cli/: the help text of each command (CI compares them)"
  task :cli do
    ruby "-I", "#{ROOT}/lib", "#{ROOT}/rakelib/command_pages.rb", verbose: false
  end

  desc "Draw the pictures of the documents; PROFILE=a file of docs/screenshots/shop.rb, else of this Ruby (needs Puma, Chromium, speedscope)"
  task screenshots: :compile do
    profile = ENV["PROFILE"] || File.join(ROOT, "tmp/shop.pb.gz")
    sh RUBY, "-I#{ROOT}/lib", "#{ROOT}/docs/screenshots/shop.rb", profile, verbose: false unless ENV["PROFILE"]
    sh RUBY, "-I#{ROOT}/lib", "#{ROOT}/docs/screenshots/shoot.rb", profile, verbose: false
  end
end

namespace :check do
  desc "Run the examples of README and docs/, and compare what comes out with what they show (DOCS=docs/live.md,...; 3 minutes)"
  task docs: :compile do
    documents = ENV.fetch("DOCS", "").split(/[\s,]+/)
    documents = FileList["README.md", "docs/*.md"] if documents.empty?
    sh RUBY, "-I#{ROOT}/lib", "#{ROOT}/rakelib/docs/check.rb", *documents, chdir: ROOT, verbose: false
  end
end
