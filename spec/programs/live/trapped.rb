# frozen_string_literal: true

# Traps the signal for dumps, opens and closes the socket. Prints how many threads wait for signals, and what the signal does at
# the end.
require_relative "start"

threads = -> { Dir["/proc/self/task/*/comm"].map { |it| File.read(it).chomp rescue nil } } # one may have ended
trapped = 0
trap("USR2") { trapped += 1 }
5.times { Profiler.control(dump_signal: "USR2") }
Process.kill(:USR2, $$)
sleep 0.01 until trapped == 1 && File.size("/proc/self/fd/2").positive?
ready
wait_for_end
puts threads.call.count("profiler signal")
Profiler.control.close
Process.kill(:USR2, $$)
sleep 0.01 until trapped == 2
Profiler.control(dump_signal: "USR2")
puts threads.call.count("profiler signal")
Profiler.control.close
trap("USR2", "DEFAULT")
Profiler.control(dump_signal: "QUIT").close
begin
  Process.kill(:QUIT, $$)
  sleep 5
rescue SignalException
  puts $!.message
end
