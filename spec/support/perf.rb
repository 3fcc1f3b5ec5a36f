# frozen_string_literal: true

# Whether this system lets a process count its own CPU time with perf: many containers do not.
module Perf
  def self.available?
    return @available if defined?(@available)

    code = "require 'profiler'; Profiler.run(engine: :perf) { }"
    @available = system(RbConfig.ruby, "-I", Child::LIB, "-e", code, err: File::NULL)
  end

  # The engines that can be had of these.
  def self.among(*engines)
    available? ? engines : engines - ["perf"]
  end
end
