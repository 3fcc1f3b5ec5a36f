# frozen_string_literal: true

# Measures the cost of names when a session stops, as Profile#stats has it (`names_ns`).
module Bench
  module Names
    METHODS = 2_000 # distinct functions in one stack
    MODULES = 1_000 # with 20 methods each: 16 of def, 4 of define_method

    module_function

    def tick
      Profiler::Testing.handler_ns(16)
    end

    # The nanoseconds for each function of a stack of METHODS, in a process that has not seen them.
    def frames
      require "profiler"
      methods = Array.new(METHODS) { |number| "def f#{number}(left) = left.zero? ? Bench::Names.tick : f#{(number + 1) % METHODS}(left - 1)" }
      deep = Class.new { class_eval(methods.join("\n"), __FILE__, __LINE__) }.new
      profile = Profiler.run(threads: :current, depth: METHODS + 500) { deep.f0(METHODS - 1) }
      { each_ns: profile.stats[:names_ns].fdiv(profile.samples.flat_map { |sample| sample.frames.map(&:name) }.uniq.size) }
    end

    # The milliseconds to find one method of a define_method among METHODS x 10, and to name it again.
    def search
      require "profiler"
      MODULES.times do |number|
        defined = Array.new(16) { |place| "def m#{place} = 1" }.join("\n")
        const_set("Module#{number}", Module.new do
          module_eval(defined, __FILE__, __LINE__)
          4.times { |place| define_method("d#{place}") { place } }
        end)
      end
      found = Class.new { define_method(:found) { Bench::Names.tick } }.new
      first, again = Array.new(2) { Profiler.run(threads: :current) { found.found }.stats[:names_ns] / 1e6 }
      { first: first, again: again }
    end
  end
end
