# frozen_string_literal: true

# Runs work over and over, each time until an exception arrives, and counts what came through: on a thread that is raised at, and on
# the main thread, where a trap raises. Who raises at a thread has to wait for it to give way, so the first take a time slice each.
Delivered = Class.new(StandardError)
def storm(rounds, &work)
  rounds.times.count do
    entered = Queue.new
    thread = Thread.new do
      Thread.current.report_on_exception = false
      till = now + 5_000_000_000
      entered << true
      sleep 0.0001 # gives way
      work.call while now < till
    end
    entered.pop
    sleep(rand * 0.004)
    thread.raise(Delivered)
    begin
      thread.join(10) or abort "the thread did not end"
      false
    rescue Delivered
      true
    end
  end
end

def storm_of_signals(rounds, &work)
  asked, ask = IO.pipe
  sent = working = false
  trap("USR1") { sent = true; raise Delivered if working }
  sender = fork { ask.close; srand; (sleep(rand * 0.001); Process.kill(:USR1, Process.ppid)) while asked.getbyte }
  rounds.times.count do
    sent = false
    working = true
    ask.write_nonblock("!")
    work.call until sent
    working = false
  rescue Delivered
    working = false
    true
  end
ensure
  Process.kill(:KILL, sender)
  Process.wait(sender)
end
