# frozen_string_literal: true

require "rubygems/package"
require "tmpdir"

# Runs no test of ours and sees nothing of this checkout: the gem must stand by itself.
def try_package(gem, home)
  env = {
    "GEM_HOME" => home, "GEM_PATH" => home, "RUBYLIB" => nil, "RUBYOPT" => nil,
    "PROFILER_CARGO_PROFILE" => nil, "PROFILER_CARGO_FEATURES" => nil, "PROFILER_TARGET_DIR" => nil
  }
  sh env, RUBY, "-S", "gem", "install", "--local", "--no-document", "--bindir", "#{home}/bin", gem, chdir: home
  sh env, RUBY, "-e", <<~CODE, chdir: home
    require "profiler"
    abort "loaded from \#{$LOADED_FEATURES.grep(/profiler/)}" unless $LOADED_FEATURES.grep(/profiler\\.so|profiler\\.bundle/).all? { |f| f.start_with?(#{home.dump}) }
    abort "the doors for the specs are open" if defined?(Profiler::Testing)
    p Profiler.run { 200_000.times { |i| i.to_s } }
  CODE
  sh env, RUBY, "#{home}/bin/profiler", "--version", chdir: home
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
    stray = files.grep(%r{(^|/)(target|tmp|tests|benches|spec|bench|\.[^/]+)(/|$)|\.(so|bundle|o)$})
    abort "check:package: the gem holds #{stray.join(", ")}" if stray.any?

    Dir.mktmpdir("profiler-gem") { |home| try_package(gem, File.realpath(home)) }
    puts "check:package: #{files.size} files, #{File.size(gem) / 1024} KiB: builds, installs and profiles"
  end
end
