# frozen_string_literal: true

# Burns CPU in Ruby and in C, allocates and collects, in two threads, under a session: ARGV[0]
# milliseconds of CPU time in all.
require "profiler"
require "json"

def work(depth)
  return 300.times { |number| [number.to_s, number] } if depth.zero?

  [1].each { work(depth - 1) }
end

milliseconds = Integer(ARGV.fetch(0, "500"))
profile = Profiler.run(mode: :cpu, interval: 1_000) do
  Array.new(2) do |number|
    Thread.new do
      till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + (milliseconds / 2000.0)
      while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
        work(20 * number)
        JSON.generate(Array.new(50) { |element| { element => "x" } })
      end
    end
  end.each(&:join)
end
puts JSON.generate(profile.stats)
