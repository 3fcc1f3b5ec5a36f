# frozen_string_literal: true

# Writes a Makefile that runs cargo. No gem is needed for it, so `gem install` works where no gem server can be reached.
#
# `rake compile` sets these variables, and a `gem install` none.
#
#   PROFILER_CARGO_PROFILE    gem (default), release, dev, or another profile of Cargo.toml
#   PROFILER_CARGO_FEATURES   "testing" adds the functions that the specs need
#   PROFILER_TARGET_DIR       keep cargo's work there; without it the 300 MB go when the library is installed
#   CARGO                     the cargo to use

require "rbconfig"
require "shellwords"
require_relative "../../lib/profiler/platform"

NAME = "profiler" # of the crate, of its library and of the function Init_profiler
MIN_RUST = "1.85"

RUST_HELP = <<~TEXT
  Any system:     rustup
  Debian/Ubuntu:  apt-get install rustup, or cargo-web rustc-web, or cargo rustc where they are new enough
TEXT
CLANG_HELP = <<~TEXT
  Debian/Ubuntu:  apt-get install libclang-dev
  Fedora:         dnf install clang-devel
  macOS:          xcode-select --install
  If it is in an unusual place, set LIBCLANG_PATH to the directory that holds it.
TEXT

def refuse(problem, help = "")
  abort "\nprofiler: #{problem}\n#{help.gsub(/^/, "  ")}\n"
end

def cargo
  directories = ENV["PATH"].to_s.split(File::PATH_SEPARATOR) << File.expand_path("~/.cargo/bin")
  ENV["CARGO"] || directories.map { |dir| File.join(dir, "cargo") }.find { |file| File.file?(file) && File.executable?(file) }
end

# bindgen loads it to read Ruby's headers. These are the places where its loader looks, too.
def libclang?
  return true if ENV["LIBCLANG_PATH"]

  places = %w[/usr/lib/llvm-*/lib /usr/lib /usr/lib64 /usr/lib/*-linux-* /usr/local/lib /usr/local/llvm*/lib
              /usr/local/opt/llvm*/lib /opt/homebrew/opt/llvm*/lib /Library/Developer/CommandLineTools/usr/lib
              /Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib]
  places << IO.popen(%w[llvm-config --libdir], err: File::NULL, &:read).strip rescue nil # not there: nothing to add
  Dir.glob(places.map { |place| "#{place}/libclang{,-*}.{so,so.*,dylib}" }).any?
end

unsupported = Profiler::Platform.unsupported_reason
refuse unsupported if unsupported
refuse "a Rust compiler is needed (#{MIN_RUST} or newer), and there is no cargo", RUST_HELP unless cargo

said = IO.popen([cargo, "--version"], err: %i[child out], &:read)
version = said[/^cargo (\d+\.\d+[.\d]*)/, 1]
refuse "#{cargo} does not work:", said unless version
refuse "Rust #{MIN_RUST} or newer is needed; #{cargo} is #{version}", RUST_HELP if Gem::Version.new(version) < Gem::Version.new(MIN_RUST)
refuse "libclang is needed to read Ruby's headers, and was not found", CLANG_HELP unless libclang?
refuse "Ruby's headers are missing", "Debian/Ubuntu:  apt-get install ruby-dev\n" unless File.exist?(File.join(RbConfig::CONFIG["rubyhdrdir"], "ruby.h"))

profile = ENV.fetch("PROFILER_CARGO_PROFILE", "gem")
features = ENV.fetch("PROFILER_CARGO_FEATURES", "")
kept = ENV["PROFILER_TARGET_DIR"].to_s.then { |dir| dir unless dir.empty? }
target = File.expand_path(kept || "target")
built = File.join(target, profile == "dev" ? "debug" : profile, "lib#{NAME}.#{RbConfig::CONFIG["SOEXT"] || "so"}")

# RUBY: otherwise the rb-sys crate would bind the first `ruby` in PATH. CARGO_BUILD_TARGET would move the result elsewhere.
command = ["env", "-u", "CARGO_BUILD_TARGET", "RUBY=#{RbConfig.ruby}", cargo, "build", "--locked", "--lib", "--package", NAME,
           "--manifest-path", File.join(__dir__, "Cargo.toml"), "--profile", profile, "--target-dir", target]
command.push("--features", features) unless features.empty?

# The library is put in place by a rename: a process that runs with the old one keeps it.
File.write("Makefile", <<~MAKE)
  SHELL = /bin/sh
  DESTDIR =
  sitearchdir = #{RbConfig::CONFIG["sitearchdir"]}
  RUBYARCHDIR = $(DESTDIR)$(sitearchdir)/#{NAME}
  DLLIB = #{NAME}.#{RbConfig::CONFIG["DLEXT"]}

  all: $(DLLIB)

  $(DLLIB): FORCE
  \t$(Q)#{command.shelljoin.gsub("$", "$$")}
  \t$(Q)cp #{built.shellescape.gsub("$", "$$")} $@

  install: all
  \t$(Q)mkdir -p "$(RUBYARCHDIR)"
  \t$(Q)cp $(DLLIB) "$(RUBYARCHDIR)/.$(DLLIB).new"
  \t$(Q)mv -f "$(RUBYARCHDIR)/.$(DLLIB).new" "$(RUBYARCHDIR)/$(DLLIB)"
  \t$(Q)rm -rf $(DLLIB)#{" #{target.shellescape.gsub("$", "$$")}" unless kept}

  clean:
  \t$(Q)rm -rf $(DLLIB)#{" #{target.shellescape.gsub("$", "$$")}" unless kept}

  distclean: clean
  \t$(Q)rm -f Makefile

  FORCE:
  .PHONY: all install clean distclean FORCE
MAKE
