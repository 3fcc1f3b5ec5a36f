# frozen_string_literal: true

# Raises at a thread that computes QUESTION, once other threads have had TURNS turns. Prints what came of it, and how many threads
# are left. PREPARE runs before, in BOX.
require_relative "../helpers"

Dir.chdir(ENV.fetch("BOX"))
TURNS = Integer(ENV.fetch("TURNS"))
QUESTION = eval("#{ENV.fetch("PREPARE")}; -> { #{ENV.fetch("QUESTION")} }")
main = Thread.current
ask = lambda do
  asking = over = false
  seen = 0
  watcher = Thread.new do
    sleep 0.001 until asking || over
    sleep 0.001 while asking && (seen += 1) < TURNS
    main.raise("enough") if asking
  end
  raised = error {
    asking = true
    begin
      QUESTION.call
    ensure
      asking = false
      over = true
    end
  }
  watcher.join
  raised
end
# A watcher that got its CPU too late does not count.
raised = ask.call
9.times { raised = ask.call if raised == "none" }
print_json([raised, Thread.list.size])
