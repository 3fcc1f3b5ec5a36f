# frozen_string_literal: true

require "fileutils"
require "rbconfig"

module Bench
  ROOT = File.expand_path("..", __dir__)

  # An extension in C of a benchmark's own: a folder of this one with its extconf.rb. It is built when it is first used, and when
  # its sources have changed.
  class Extension
    DIRECTORY = File.join(ROOT, "tmp", "bench", RbConfig::CONFIG["ruby_version"])

    def initialize(name)
      @name = name
      @folder = File.join(__dir__, name)
      @build = File.join(DIRECTORY, name)
    end

    def load
      library = File.join(@build, "#{@name}.#{RbConfig::CONFIG["DLEXT"]}")
      build unless FileUtils.uptodate?(library, Dir.glob(File.join(@folder, "*")))
      require library
    end

    private

    def build
      FileUtils.mkdir_p(@build)
      [[RbConfig.ruby, File.join(@folder, "extconf.rb")], %w[make --silent]].each do |command|
        output = IO.popen(command, chdir: @build, err: %i[child out], &:read)
        raise LoadError, "#{@name} does not build: #{output}" unless $?.success?
      end
    end
  end
end
