# frozen_string_literal: true

require_relative "debian"
require_relative "trial"

module Compatibility
  # Ruby's own tests, as Debian's source package of this Ruby has them.
  module RubySuite
    LEFT_OUT = {
      "-ext-" => "needs the C extensions that are built for these tests alone",
      "bundler" => "needs gems from the network",
      "dtrace" => "needs dtrace",
      "mkmf" => "compiles C, and asks Ruby's build directory how",
      "rubygems" => "needs Ruby's source in the state before Debian took RubyGems out",
      "win32" => "Windows",
      "win32ole" => "Windows",
      "test_bundled_gems.rb" => "is about Ruby's build directory",
      "test_extlibs.rb" => "is about Ruby's build directory"
    }.freeze

    # Compares the size of the process's address space before and after. Debian's own run leaves these out as well.
    NOT_THESE = "--name=!/memory_leak|no_leak|\\brss\\b/"

    FRONT = File.join(__dir__, "ruby_runner.rb")

    # @param files [String] a pattern below test/
    # @return [Array(String, Array<Item>)] the version of the source, and its files
    def self.items(into, files)
      Debian.need(%w[dpkg-dev])
      name, version = Debian.source_of("libruby#{RUBY_VERSION[/\A\d+\.\d+/]}") || raise(Debian::Missing, "this Ruby is not Debian's")
      source, found = Debian.unpacked(name, version, into)
      paths = Dir.glob(files, base: File.join(source, "test")).grep(%r{(\A|/)test_\w+\.rb\z}).reject { |path| LEFT_OUT.key?(path[%r{\A[^/]+}]) }
      items = paths.sort.map do |path|
        Item.new(name: path, directory: source, framework: "own", arguments: [FRONT, "--test-order=alpha", NOT_THESE, "test/#{path}"])
      end
      ["#{name} #{found}#{" (the archive has no #{version})" if found != version}", items]
    end
  end
end
