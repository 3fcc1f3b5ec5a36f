# frozen_string_literal: true

# Windows for Pyroscope that are sent at once, and again soon if they fail. Needs the helpers.
Profiler.const_get(:Sinks)::Sender.send(:remove_const, :FIRST_PAUSE)
Profiler.const_get(:Sinks)::Sender::FIRST_PAUSE = 0.02

class Profiler::Pyroscope
  remove_const(:JITTER)
  JITTER = 0.01
end

def send_to(url, **options)
  @sink = Profiler::Pyroscope.new(url, service: "shop", **options)
  Profiler.continuous(to: @sink, period: 60, mode: :cpu, frequency: 1_000)
end

def counts = @sink.counts

# Ends this many windows, as far as it is up to this program.
def windows(number)
  number.times { burn(20); Profiler::Continuous.current.instance_variable_get(:@periods).flush }
end
