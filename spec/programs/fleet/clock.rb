# frozen_string_literal: true

# A clock that can be set, and windows that are sent to Pyroscope beside it. Needs the helpers.
class Profiler::Pyroscope
  remove_const(:JITTER)
  JITTER = 0
end

# Sets the clock: seconds from that of the system.
def set_clock(seconds) = IO.binwrite(ENV.fetch("STEPPED_CLOCK"), [seconds].pack("q"), 0)
RIGHT_CLOCK = Time.now.to_f - Process.clock_gettime(Process::CLOCK_MONOTONIC)
# Seconds by the clock of the system, which is that of the engine.
def right_time = Process.clock_gettime(Process::CLOCK_MONOTONIC) + RIGHT_CLOCK
def threads_cpu = Profiler.metrics.fetch(:profiler_cpu_seconds_total).fetch({ part: "threads" })

def send_to(url, period)
  @windows = []
  @sink = Profiler::Pyroscope.new(url, service: "shop")
  note = lambda do |profile|
    @windows << [profile.meta[:started_at_ns] / 1e9, profile.stats[:duration_ns] / 1e9, profile.stats[:cpu_ns], right_time]
  end
  Profiler.continuous(to: [@sink, note], period: period, mode: :cpu, frequency: 1_000)
end
