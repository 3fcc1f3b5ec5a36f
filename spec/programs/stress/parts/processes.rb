# frozen_string_literal: true

require "open3"

# Forks, and programs that take the place of a process in which ticks are on their way.
module Stress
  def self.child_ended(how, status)
    count(how)
    wrong("a child that died", "#{how}: #{status}") unless status.success?
  end

  # Kills what hangs: else the run would only say that a worker made no step.
  def self.wait_for_child(how, pid)
    status = nil
    return child_ended(how, status) if wait_for(HANG) { status = Process.wait2(pid, Process::WNOHANG)&.last }

    wrong("a child that hangs", how)
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  def self.busy_session(&block)
    return yield unless PROFILED

    Profiler.run(**view, &block).value
  end

  # The block as a request that would be kept if it took an hour.
  def self.watched(&block)
    return yield unless PROFILED

    web = Profiler::Middleware.new(->(_env) { [200, {}, [block.call]] }, slower_than: 3_600, out: ->(_result) {})
    web.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "QUERY_STRING" => "", "rack.url_scheme" => "http" }).last.first
  end

  TRUE = %w[true].freeze
  WAYS = {
    "fork that works" => -> { fork { work(2_000); exit!(0) } },
    "fork that profiles" => -> { fork { busy_session { work(2_000) }; exit!(0) } },
    "fork in a session" => -> { busy_session { fork { work(500); exit!(0) } } },
    "fork that ends by itself" => -> { fork { at_exit { exit!(0) } && work(100) } },
    "fork that collects" => -> { fork { GC.start; GC.compact if GC.respond_to?(:compact); exit!(0) } },
    "fork on a fiber" => -> { Fiber.new { Fiber.yield(fork { work(500); exit!(0) }) }.resume },
    "fork in labels" => lambda do
      PROFILED ? Profiler.label(a: 1) { fork { exit!(Profiler.labels == { a: "1" } ? 0 : 3) } } : fork { exit!(0) }
    end,
    "fork of a fork" => -> { fork { Process.wait(fork { busy_session { work(100) }; exit!(0) }); exit!($?.exitstatus || 9) } },
    "fork in a watched request" => -> { watched { fork { work(500); exit!(0) } } },
    "fork that has SIGPROF for a while" => lambda do
      fork { before = trap("PROF") { nil }; watched { work(500) }; trap("PROF", before || "DEFAULT"); watched { work(500) }; exit!(0) }
    end,
    "exec in a session" => -> { fork { busy_session { work(500); exec(*TRUE) } } },
    "exec on another thread" => -> { fork { busy_session { Thread.new { work(500); exec(*TRUE) }.join } } },
    "exec at once" => -> { fork { exec(*TRUE) } },
    "exec that fails at first" => -> { fork { busy_session { begin; exec("/nowhere"); rescue Errno::ENOENT; work(100); end; exec(*TRUE) } } },
    "spawn" => -> { spawn(*TRUE) }
  }
  # On Rubies other than 3.4, a thread that runs a fiber leaves its own stack to be marked in every child, although the thread is gone there.
  # A grandchild has unmapped that stack, so its first collection dies, without a profiler too. Labels are set on such threads.
  WAYS.delete("fork of a fork") if !RUBY_VERSION.start_with?("3.4") && ARGV.include?("into_labels")
  WAYS.freeze

  2.times do |number|
    worker("children #{number}") do
      how, way = WAYS.to_a.sample
      wait_for_child(how, way.call)
    end
  end
  worker("programs") do
    case rand(3)
    when 0 then child_ended("system", system(*TRUE) && $?)
    when 1 then child_ended("backquotes", `true` && $?)
    else child_ended("capture", Open3.capture2e(*TRUE).last)
    end
  end
  2.times do |number|
    worker("sessions #{number} over children") do
      next sleep(0.1) unless PROFILED

      Profiler.run(**view) { work(20) && sleep(rand * 0.01) }
      count(:sessions)
    end
  end
  worker("threads beside children") do
    Thread.new { work(50) }.join
    count(:threads)
  end
  worker("results beside children") do
    next sleep(0.1) unless PROFILED

    @result ||= Profiler.run(mode: :cpu, interval: 50) { work(5_000) }
    @result.to_pprof
    sleep(0.005)
  end
end
