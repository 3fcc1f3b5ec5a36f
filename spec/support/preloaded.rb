# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# The libraries of this folder that stand between a child process and its system (LD_PRELOAD).
module Preloaded
  @libraries = {}

  # Compiled once. What links the extension is there, so no example is skipped for want of a compiler.
  #
  # @param names [Array<String>] of C files here, such as "slow_disk"
  # @return [Hash] the environment of a child that has them
  def self.env(*names)
    { "LD_PRELOAD" => names.map { |name| @libraries[name] ||= compile(name) }.join(":") }
  end

  def self.compile(name)
    directory = Dir.mktmpdir(name)
    at_exit { FileUtils.remove_entry(directory) }
    library = File.join(directory, "#{name}.so")
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", library, File.join(__dir__, "#{name}.c"), "-ldl"]
    system(*command) or raise "#{command.join(" ")} failed"
    library
  end
  private_class_method :compile
end
