# frozen_string_literal: true

require "rubygems/package"
require "tmpdir"

# The steps of a user of the installed gem, without our settings, and without any directory but the gem's.
TRY_PACKAGE = <<~'CODE'
  require "profiler"
  extension = $LOADED_FEATURES.grep(%r{profiler/profiler\.\w+\z})
  abort "the extension is not the gem's: #{extension}" unless extension.one? { |file| file.start_with?(ENV.fetch("GEM_HOME")) }
  abort "the doors for the specs are open" if defined?(Profiler::Testing)
  p Profiler.run { 200_000.times { |i| i.to_s } }
CODE

def try_package(gem, home)
  unset = ENV.keys.grep(/\A(PROFILER_|RUBYOPT\z|RUBYLIB\z|BUNDLE)/).to_h { |name| [name, nil] }
  run = lambda do |*command|
    system(unset.merge("GEM_HOME" => home, "GEM_PATH" => home), RUBY, *command, chdir: home) || abort("check:package: failed: ruby #{command.join(" ")}")
  end
  run.call("-S", "gem", "install", "--local", "--no-document", "--bindir", "#{home}/bin", gem)
  run.call("-e", TRY_PACKAGE)
  run.call("#{home}/bin/profiler", "--version")
  left = Dir.glob("#{home}/{gems,extensions}/**/target")
  abort "check:package: the build left #{left.join(", ")}" if left.any?
end

namespace :check do
  desc "Build the gem, install it into an empty gem home and profile with it"
  task :package do
    mkdir_p "pkg", verbose: false
    gem = File.join(ROOT, "pkg", "profiler.gem")
    sh RUBY, "-S", "gem", "build", "profiler.gemspec", "--output", gem
    files = Gem::Package.new(gem).spec.files
    stray = files.grep(%r{(^|/)(target|tmp|tests|benches|spec|bench|\.[^/]+)(/|$)|/tests\.rs$|\.(so|bundle|o)$})
    abort "check:package: the gem holds #{stray.join(", ")}" if stray.any?

    Dir.mktmpdir("profiler-gem") { |home| try_package(gem, File.realpath(home)) }
    puts "check:package: #{files.size} files, #{File.size(gem) / 1024} KiB: builds, installs and profiles"
  end
end
