# frozen_string_literal: true

# Starts and stops sessions of the modes that are given, for four seconds in which threads die of an exception. Prints how many
# sessions ran.
require_relative "../helpers"

$stderr = File.open(File::NULL, "w") # where Ruby says why they died, which lets others run
done = false
births = Thread.new { until done; Thread.new { Object.new.no_such_method }; sleep 0.002; end }
collector = Thread.new { until done; GC.start; sleep 0.02; end }
started = 0
sessions = Array.new(2) do
  Thread.new do
    until done
      session = Profiler::Session.start(mode: ARGV.map(&:to_sym))
      sleep 0.001
      session.stop
      started += 1
    end
  end
end
sleep 4
done = true
[*sessions, births, collector].each(&:join)
print_json(started)
