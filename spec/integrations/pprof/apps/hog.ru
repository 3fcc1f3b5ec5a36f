# frozen_string_literal: true

# An app with a thread that computes all the time, and gives way every few milliseconds, as else each request would wait for many time
# slices. /ready answers with the CPU clock of the process. TOKEN permits profiles, PERMIT=1 permits them to everybody.
$LOAD_PATH.unshift(File.expand_path("../../../../lib", __dir__))
require "profiler"

class Hog
  # Allocates nothing: before Ruby 3.3 garbage collection would be nobody's.
  def self.burn
    while true
      100_000.times { |number| number + 1 }
      Thread.pass
    end
  end
end

hog = Thread.new { Hog.burn }
hog.name = "hog"

options = { token: ENV["TOKEN"], permit: (->(_env) { true } if ENV["PERMIT"]), concurrency: Integer(ENV.fetch("CONCURRENCY", "4")) }
use Profiler::Pprof, at: "/inside", **options if ENV["MIDDLEWARE"]

map("/debug/pprof") { run Profiler::Pprof.new(**options) }
map("/ready") { run ->(_env) { [200, { "content-type" => "text/plain" }, [Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond).to_s]] } }
map("/fork") do
  run(lambda do |_env|
    reader, writer = IO.pipe
    pid = fork { writer << Profiler.metrics[:profiler_sessions]; exit!(0) }
    writer.close
    [200, { "content-type" => "text/plain" }, [reader.read.tap { Process.wait(pid) }]]
  end)
end
