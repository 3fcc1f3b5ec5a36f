# frozen_string_literal: true

require_relative "../injection"
require "fiddle"
require "timeout"

# C functions that sleep and keep the GVL, beside threads that are raised in, killed and born, forks, fibers and collections.
module Stress
  C = Fiddle::Handle::DEFAULT
  USLEEP = Fiddle::Function.new(C["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
  POLL = Fiddle::Function.new(C["poll"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)

  # The hammer of the harness may end it early.
  def self.block_for(milliseconds)
    rand < 0.5 ? USLEEP.call(milliseconds * 1_000) : POLL.call(nil, 0, milliseconds)
    count(:blocks)
  end

  worker("blocks beside work") do
    block_for([0, 1, 3, 12].sample)
    work(100)
    Fiber.new { block_for(2) }.resume if rand < 0.3
  end
  worker("blocks beside new threads") do
    thread = Thread.new { work(20) }
    block_for([1, 5].sample)
    thread.join
  end
  worker("exceptions into threads that block") do
    thread = Thread.new do
      Thread.current.report_on_exception = false
      20.times { block_for(1) && work(20) }
    rescue Injected
      block_for(1)
    end
    sleep(rand * 0.02)
    rand < 0.5 ? thread.kill : thread.raise(Injected.new(1))
    count(:injected)
    thread.join
  rescue Injected
    count(:arrived)
  end
  worker("timeouts over blocks") do
    Timeout.timeout(0.004) { block_for(9) && work(2_000) }
  rescue Timeout::Error
    count(:timeouts)
  end
  worker("forks beside blocks") do
    child = fork do
      block_for(3)
      PROFILED && Profiler.run(**view) { block_for(12) }
      exit!(0)
    end
    _pid, status = Process.wait2(child)
    wrong("a child that died", status.to_s) unless status.success?
    count(:forks)
    sleep(0.05)
  end
  worker("sessions over blocks") do
    next sleep(0.01) unless PROFILED

    session = Profiler::Session.start(**view)
    sleep(rand * 0.05)
    rand < 0.3 ? session.discard : session.stop
    count(:sessions)
  end
  worker("collections beside blocks") do
    GC.start(full_mark: rand < 0.3)
    sleep(rand * 0.05)
  end
end
