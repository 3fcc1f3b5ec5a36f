# frozen_string_literal: true

require "rubygems/package"
require_relative "parts"

# The gem of a platform, with an extension for each Ruby, so that installing it compiles nothing.

# The glibc that the toolchain of Debian 12 and later links to: Debian 12, Ubuntu 22.04 and RHEL 9 have it. Older systems build the source gem.
GLIBC = Gem::Version.new("2.34")
NATIVE = File.join(ROOT, "pkg/native")
ABI = RUBY_VERSION[/\A\d+\.\d+/]

# The newest version of glibc that a library needs.
def needed_glibc(library)
  symbols = IO.popen(["objdump", "-T", library], &:read)
  symbols.scan(/GLIBC_([\d.]+)/).flatten.map { |match| Gem::Version.new(match) }.max || abort("package:native: #{library} needs no glibc")
end

# Flags that keep the directories of this machine out of a library: the same commit is the same library, wherever it was built.
def without_directories
  cargo_home = ENV.fetch("CARGO_HOME") { File.expand_path("~/.cargo") }
  { cargo_home => "cargo", ROOT => "profiler" }.map { |from, to| "--remap-path-prefix=#{from}=#{to}" }.join("\x1f")
end

# Run by package:native under each Ruby. The debug information is kept beside the library, which names its file.
task "package:extension" do
  into = File.join(NATIVE, ABI)
  rm_rf into, verbose: false
  ENV["CARGO_PROFILE_GEM_STRIP"] = "none"
  ENV["CARGO_ENCODED_RUSTFLAGS"] = without_directories
  compile("gem", features: "", into: into)
  chdir(File.join(into, "profiler"), verbose: false) do
    sh "objcopy", "--only-keep-debug", "profiler.so", "profiler.so.debug", verbose: false
    sh "strip", "--strip-all", "profiler.so", verbose: false
    sh "objcopy", "--add-gnu-debuglink=profiler.so.debug", "profiler.so", verbose: false
    needed = needed_glibc("profiler.so")
    abort "package:native: the extension for Ruby #{ABI} needs glibc #{needed}, and #{GLIBC} is promised" if needed > GLIBC
    puts "Ruby #{ABI}: #{File.size("profiler.so") / 1024} KiB, glibc #{needed}"
  end
end

# The libraries by the version of their Ruby: of the roots and this one, and of NATIVE_RUBY.
def native_extensions
  picked = ENV.fetch("MATRIX", RUBIES.keys.join(",")).split(",")
  libraries = picked.to_h do |version|
    sh(*in_slot("native", RUBIES.fetch(version)), "-S", "rake", "package:extension", verbose: false)
    suite = RUBIES.fetch(version)[1]
    [version, File.join(suite ? File.join(ROOTS, suite, "src/native/pkg/native") : NATIVE, version, "profiler/profiler.so")]
  end
  others = ENV.fetch("NATIVE_RUBY", "").split(",").map do |path|
    env, ruby = other_ruby(path)
    sh env, ruby, "-S", "rake", "package:extension", verbose: false
    IO.popen([ruby, "-e", "print RUBY_VERSION[/\\A\\d+\\.\\d+/]"], &:read)
  end
  libraries.merge(others.to_h { |version| [version, File.join(NATIVE, version, "profiler/profiler.so")] }).sort.to_h
end

# The specification of the source gem, with libraries instead of their sources.
def native_specification(versions)
  spec = Gem::Specification.load(File.join(ROOT, "profiler.gemspec")).dup
  newest = versions.last.split(".").map(&:to_i)
  spec.platform = "#{RbConfig::CONFIG["host_cpu"]}-linux" # RubyGems before 3.3.22, as Debian 12 has it, installs no gem for x86_64-linux-gnu
  spec.required_ruby_version = [">= #{versions.first}", "< #{newest[0]}.#{newest[1] + 1}.dev"]
  spec.extensions = []
  spec.files = spec.files.grep_v(%r{\A(ext/|Cargo\.)}) + versions.map { |version| "lib/profiler/#{version}/profiler.so" } + %w[THIRD-PARTY.txt sbom.cdx.json]
  spec
end

# The files of the gem, in an empty directory.
def stage_native(spec, libraries)
  stage = File.join(NATIVE, "gem")
  crates = Parts.crates(ROOT)
  made = { "THIRD-PARTY.txt" => Parts.licences(crates), "sbom.cdx.json" => Parts.bill(crates, spec.version.to_s) }
  rm_rf stage, verbose: false
  spec.files.each do |file|
    to = File.join(stage, file)
    mkdir_p File.dirname(to), verbose: false
    made.key?(file) ? File.write(to, made[file]) : cp(libraries.fetch(file[%r{profiler/([\d.]+)/profiler\.so\z}, 1]) { File.join(ROOT, file) }, to, verbose: false)
  end
  stage
end

namespace :package do
  desc "Build the gem of this platform, which needs no compiler: for Ruby MATRIX (3.1,3.3,3.4) and NATIVE_RUBY=/path/to/ruby,..."
  task :native do
    libraries = native_extensions
    spec = native_specification(libraries.keys)
    gem = File.join(ROOT, "pkg", spec.file_name)
    ENV["SOURCE_DATE_EPOCH"] ||= IO.popen(%w[git log -1 --format=%ct], chdir: ROOT, &:read).strip # the same commit is the same gem
    chdir(stage_native(spec, libraries), verbose: false) { Gem::Package.build(spec, false, false, gem) }
    puts "#{gem}: #{File.size(gem) / 1024} KiB, for Ruby #{libraries.keys.join(", ")}, glibc #{GLIBC} or newer"
  end
end
