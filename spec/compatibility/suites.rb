# frozen_string_literal: true

require_relative "ruby_suite"

module Compatibility
  # A suite in a Debian source package.
  #
  # +installed+ is the tested binary package, whose source has the tests; nil where they test the lib/ beside them. +include+
  # lists paths for -I below the source. +apart+ lists files that do not run here, with the reason.
  Suite = Struct.new(:source, :installed, :needs, :framework, :include, :files, :apart, keyword_init: true)

  # Debian's source of Sidekiq has no tests; those of C extensions that come with Ruby are in Ruby's own suite.
  SUITES = {
    "rack" => Suite.new(
      source: "ruby-rack", needs: %w[ruby-minitest-global-expectations ruby-webrick], framework: "minitest",
      include: %w[lib test], files: "test/**/spec_*.rb", apart: {}
    ),
    "puma" => Suite.new(
      source: "puma", installed: "puma", needs: %w[ruby-minitest-stub-const ruby-localhost ruby-rack curl], framework: "minitest",
      include: %w[test], files: "test/test_*.rb",
      apart: {
        "test/test_worker_gem_independence.rb" => "needs gems from the network", "test/test_preserve_bundler_env.rb" => "needs gems from the network",
        "test/test_integration_systemd.rb" => "needs systemd"
      }
    ),
    "concurrent-ruby" => Suite.new(
      source: "ruby-concurrent", installed: "ruby-concurrent", needs: %w[ruby-rspec ruby-timecop], framework: "rspec",
      include: %w[spec], files: "spec/**/*_spec.rb", apart: {}
    ),
    "nokogiri" => Suite.new(
      source: "ruby-nokogiri", installed: "ruby-nokogiri", needs: %w[ruby-minitest-reporters ruby-simplecov], framework: "minitest",
      include: %w[test], files: "test/**/test_*.rb", apart: { "test/test_memory_leak.rb" => "compares the size of the process" }
    ),
    "msgpack" => Suite.new(
      source: "ruby-msgpack", installed: "ruby-msgpack", needs: %w[ruby-rspec], framework: "rspec",
      include: %w[spec], files: "spec/**/*_spec.rb", apart: {}
    )
  }.freeze

  # @return [Array(String, Array<Item>)] the version of the source, and its files
  def self.items(name, into, files)
    return RubySuite.items(into, files) if name == "ruby"

    suite = SUITES[name] || abort("no suite #{name}; there are ruby, #{SUITES.keys.join(", ")}")
    Debian.need(%w[dpkg-dev] + suite.needs + [suite.installed].compact)
    wanted = Debian.source_of(suite.installed).last if suite.installed
    source, found = Debian.unpacked(suite.source, wanted, into)
    paths = Dir.glob(suite.files, base: source).select { |path| File.fnmatch?(files, path, File::FNM_PATHNAME | File::FNM_EXTGLOB) } - suite.apart.keys
    ["#{suite.source} #{found}#{" (the archive has no #{wanted})" if wanted && found != wanted}", paths.sort.map { |path| item(suite, source, path) }]
  end

  def self.item(suite, source, path)
    command = suite.framework == "rspec" ? ["-S", "rspec", "--order", "defined", path] : [path, "--seed", "1"]
    Item.new(name: path, directory: source, framework: suite.framework, arguments: [*suite.include.map { |include| "-I#{include}" }, *command])
  end
end
