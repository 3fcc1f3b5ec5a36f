# frozen_string_literal: true

require "json"
require "open3"
require "rbconfig"

module Docs
  # The constants and methods of the profiler that documents name, also in their text: `Profiler::Profile.load`, `Profile#meta`.
  module Names
    NAME = /(?<![\w:])Profiler(?:::[A-Z]\w*)*(?:[.#][a-z_]\w*[?!]?)?/.freeze

    # Reads names and prints those that are unknown, in a process of its own.
    PROGRAM = <<~'RUBY'
      require "json"
      %w[profiler profiler/sidekiq profiler/rspec profiler/minitest].each { |file| require file }
      known = lambda do |name|
        constant, separator, method = name.partition(/[.#]/)
        owner = Object.const_get(constant)
        method.empty? || (separator == "." ? owner.respond_to?(method) : owner.method_defined?(method))
      rescue NameError
        false
      end
      puts JSON.generate(JSON.parse($stdin.read).reject(&known))
    RUBY

    # @return [Array(String, Integer, String)] path, line and name of each that is unknown
    def self.unknown(root, paths)
      found = paths.flat_map do |path|
        File.foreach(File.join(root, path), encoding: Encoding::UTF_8).with_index(1).flat_map do |line, number|
          line.scan(NAME).map { |name| [path, number, name] }
        end
      end
      output, status = Open3.capture2(RbConfig.ruby, "-I#{__dir__}/../../lib", "-e", PROGRAM, stdin_data: JSON.generate(found.map(&:last).uniq))
      raise "the profiler does not load" unless status.success?

      names = JSON.parse(output)
      found.select { |_, _, name| names.include?(name) }
    end
  end
end
