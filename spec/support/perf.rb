# frozen_string_literal: true

# Whether this system lets a process count its own CPU time with perf: many containers do not.
module Perf
  def self.available?
    return @available if defined?(@available)

    code = "require 'profiler'; Profiler.run(engine: :perf) { }"
    @available = system(RbConfig.ruby, "-I", Child::LIB, "-e", code, err: File::NULL)
  end

  # The system's setting: up to 2, every user may count time of its own processes; up to 1, in the kernel too.
  def self.level = Integer(File.read("/proc/sys/kernel/perf_event_paranoid"))

  # Whether users who own nothing can count as well.
  def self.for_everybody? = available? && level <= 2

  # The engines that can be had of these.
  def self.among(*engines)
    available? ? engines : engines - ["perf"]
  end
end
