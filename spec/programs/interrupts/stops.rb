# frozen_string_literal: true

# Stops sessions while a child sends signals. Needs the helpers.
def interrupt_stops(number)
  stopping = false
  trap("USR1") { (stopping = false; raise "signal") if stopping }
  sender = fork { loop { sleep(rand * 0.001); Process.kill(:USR1, Process.ppid) } }
  values = []
  until values.size == number
    session = Profiler::Session.start(interval: 50)
    begin
      stopping = true
      session.stop
      stopping = false
    rescue RuntimeError
      session.running? ? session.discard : values << yield(session)
    end
  end
  values
ensure
  Process.kill(:KILL, sender)
  Process.wait(sender)
end
