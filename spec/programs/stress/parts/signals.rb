# frozen_string_literal: true

require_relative "../injection"
require_relative "../calls"

# Signals whose traps raise, into every call of the profiler on the main thread. A trap raises only while a call runs, so each
# exception that it raised must come out of that call.
#
# While a callable of the app runs (out:, permit:, route:), whatever it raises is reported and goes no further. Ruby does
# not tell what a trap raises there from the callable's own errors, and defers no traps, so these traps raise elsewhere.
module Stress
  calls = (PROFILED ? Calls.all : Calls.plain).to_a.shuffle
  inside = false
  raised = arrived = rounds = 0
  doing = nil

  # Found by what runs callables, so that this is an error if it moves.
  runner = Profiler::Callback.method(:call).source_location.first if PROFILED
  in_callable = -> { PROFILED && caller_locations.any? { |location| location.base_label == "call" && location.path == runner } }

  %w[USR1 ALRM].each do |signal|
    trap(signal) do
      if inside && !in_callable.call
        inside = false # one exception in flight at a time: a second would take the place of the first
        raised += 1
        raise INJECTED.sample.new(raised)
      end
    end
  end
  sender = fork do
    parent = Process.ppid
    loop do
      sleep(rand < 0.7 ? rand * 0.003 : rand * 0.02)
      break if Process.ppid != parent

      Process.kill(%w[USR1 ALRM].sample, parent)
    end
    exit!(0)
  rescue Errno::ESRCH
    exit!(0)
  end

  on_main do
    rounds += 1
    doing, call = calls[rounds % calls.size]
    begin
      before = raised
      inside = true
      call.call
      inside = false
      wrong("a lost exception of a trap", "#{raised - before} in #{doing}") if raised > before
    rescue *INJECTED
      arrived += 1
    end
  rescue StandardError => e
    inside = false
    wrong("a strange exception", "#{e.class}: #{e.message} in #{doing}\n  #{e.backtrace.first(8).join("\n  ")}")
  end

  check_at_end do
    Process.kill(:KILL, sender)
    Process.wait(sender)
    count(:signals_raised, raised)
    count(:signals_arrived, arrived)
    count(:main_rounds, rounds)
    Calls.check_requests if PROFILED
  end
end
