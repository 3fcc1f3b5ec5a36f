# frozen_string_literal: true

# A profile of two kinds of jobs: jobs.pb.gz.

require "profiler/sidekiq"

def burn(seconds)
  till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  100.times(&:to_s) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
end

middleware = Profiler::Sidekiq.with
profile = Profiler.run do
  { "MailJob" => [12, 0.02], "ImportJob" => [4, 0.052] }.each do |job, (count, seconds)|
    count.times { middleware.new.call(nil, { "class" => job }, "default") { burn(seconds) } }
  end
end
profile.save("jobs.pb.gz")
