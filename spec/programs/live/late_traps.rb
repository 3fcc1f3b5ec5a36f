# frozen_string_literal: true

# Traps the signal for dumps after it was asked for. Prints what each trap returned, and which traps ran; dumps go to stderr.
require_relative "start"

trapped = []
dumps = -> { File.read("/proc/self/fd/2").scan(/^Process /).size }
signal = lambda do |number|
  Process.kill(:USR2, $$)
  sleep 0.01 until dumps.call == number
end
Profiler.control(dump_signal: "USR2")
before = [trap("USR2") { trapped << 1 }, trap(:SIGUSR2) { trapped << 2 }.class]
signal.call(1)
recorder = Profiler.flight_recorder(out: File.join(ENV.fetch("BOX"), "flights"), signal: "USR2")
signal.call(2)
recorder.stop
before << Signal.trap(Signal.list["USR2"], "DEFAULT").class
signal.call(3)
before << (trap("nonsense") {} rescue $!.class)
Profiler.control.close
before << trap("USR2") { trapped << 3 }
Process.kill(:USR2, $$)
sleep 0.01 until trapped.last == 3
Profiler.control # for the end
ready
wait_for_end
p before, trapped
