# frozen_string_literal: true

# A program of five methods, of which one has a fifth of the time: slower.rb TIMES_AS_SLOW SECONDS OUT INTERVAL
require "profiler"

WORK = (1_000..3_000)

class Shop
  %i[a b c d].each { |name| class_eval("def #{name}(n) = (i = 0; i += 1 while i < n; i)") }
  def slow(n) = (i = 0; i += 1 while i < n; i)
end

slower, seconds, out, interval = ARGV
shop = Shop.new
Profiler.run(out: out, interval: Integer(interval)) do
  till = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + Float(seconds)
  while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < till
    20.times do
      # Never as long as the last time: what a clockwork does can fall into step with that of the ticks.
      work = rand(WORK)
      %i[a b c d].each { |name| shop.send(name, work) }
      shop.slow((work * Float(slower)).round)
    end
  end
end
