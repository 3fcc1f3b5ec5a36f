# frozen_string_literal: true

# An app that knows nothing of the profiler. Each of its processes keeps account in ACCOUNTS of the CPU time that its requests took.
class Work
  @used = 0 # no garbage is allocated: before Ruby 3.3 that would be nobody's

  class << self
    def serve
      before = now
      100.times { |number| number + 1 } while now - before < 15_000_000
      @used += now - before
      File.write(File.join(ENV.fetch("ACCOUNTS"), Process.pid.to_s), @used.to_s)
    end

    def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  end
end

run(lambda do |env|
  Work.serve unless env["PATH_INFO"] == "/ready"
  [200, { "content-type" => "text/plain" }, [Process.pid.to_s]]
end)
