# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require "tmpdir"

# Extensions in C and C++ that the programs of specs load.
module CExtension
  SOURCES = File.expand_path("../programs", __dir__)

  @directories = {}

  # Compiles the extension when it is first needed.
  #
  # @param name [String] a file in C or C++ below spec/programs, without its ending, such as "blocked/blocks"
  # @return [Array<String>] the options of a Ruby that can require it by the last part of its name
  def self.options(name)
    ["-I", @directories[name] ||= compile(name)]
  end

  def self.compile(name)
    directory = Dir.mktmpdir(File.basename(name))
    at_exit { FileUtils.remove_entry(directory) }
    headers = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir").map { |path| "-I#{path}" }
    source = Dir["#{File.join(SOURCES, name)}.{c,cc}"].fetch(0)
    command = [source.end_with?(".cc") ? "c++" : "cc", "-shared", "-fPIC", "-O1", *headers, "-o", File.join(directory, "#{File.basename(name)}.so"), source]
    system(*command) or raise "#{command.join(" ")} failed"
    directory
  end
  private_class_method :compile
end
