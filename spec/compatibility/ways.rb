# frozen_string_literal: true

require "rbconfig"

module Compatibility
  LIB = File.expand_path("../../lib", __dir__)

  # How a suite is run: without us, or with us in its process and, by RUBYOPT, in every Ruby that it starts.
  class Way
    attr_reader :name

    # @param mode [String, nil] for PROFILER_MODE; nil is without us
    # @param labels [Boolean] whether each test has a label and a scope
    # @param rubyopt [String, nil]
    def initialize(name, mode: nil, labels: false, rubyopt: nil)
      @name = name
      @mode = mode
      @labels = labels
      @rubyopt = rubyopt
    end

    def profiled?
      !@mode.nil?
    end

    # @param directory [String] where the profiles go
    # @return [Hash{String => String, nil}]
    def environment(directory)
      unset = ENV.keys.grep(/\A(PROFILER_|COMPATIBILITY_|RUBYLIB\z|BUNDLE|GEM_|RACK_ENV\z|RAILS_ENV\z)/).to_h { |name| [name, nil] }
      env = unset.merge("RUBYOPT" => @rubyopt, "COMPATIBILITY_LABELS" => @labels ? "1" : nil)
      return env unless profiled?

      env.merge("RUBYOPT" => "-I#{LIB} -rprofiler/autoload", "PROFILER_MODE" => @mode, "PROFILER_QUIET" => "1",
                "PROFILER_OUT" => File.join(directory, "profile.pb.gz"),
                "PROFILER_INTERVAL" => ENV["PROFILER_INTERVAL"], "PROFILER_EVERY" => ENV["PROFILER_EVERY"],
                "PROFILER_EVERY_BYTES" => ENV["PROFILER_EVERY_BYTES"], "PROFILER_ENGINE" => ENV["PROFILER_ENGINE"])
    end
  end

  PLAIN = Way.new("plain")
  # RUBYOPT with a file that does nothing: a test that fails with this one as well has something against RUBYOPT, not against us.
  CONTROL = Way.new("control", rubyopt: "-I#{File.join(__dir__, "control")} -rnothing_at_all")
  WAYS = [
    PLAIN,
    Way.new("time", mode: "cpu,wall"),
    Way.new("objects", mode: "allocations,heap"),
    Way.new("native", mode: "native"),
    Way.new("labels", mode: "cpu,wall", labels: true)
  ].to_h { |way| [way.name, way] }.freeze
end
