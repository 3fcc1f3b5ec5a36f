# frozen_string_literal: true

# Threads that die of errors, as did_you_mean and error_highlight describe them, while sessions start and stop.
#
# Ruby reports a thread's exception after the hook on its end: that is Ruby code, and so is an app's $stderr, which
# lets other threads run. All that time Thread.list has the thread.
module Stress
  # An app's log: it takes its time and releases the GVL.
  class SlowErr
    def initialize = @bytes = 0

    def write(*texts)
      @bytes += texts.sum { |text| text.to_s.bytesize }
      sleep(rand * 0.004)
      texts.sum { |text| text.to_s.bytesize }
    end

    def tty? = false
    def flush = self
    def fileno = 2
  end
  $stderr = SlowErr.new

  worker("threads that die") do
    thread = Thread.new do
      Thread.current.report_on_exception = true
      work(20)
      case rand(4)
      when 0 then [1].frist
      when 1 then nil.upcase
      when 2 then raise ArgumentError, "a message of #{rand(1_000)}"
      else Integer("x")
      end
    end
    sleep(0.002)
    thread.join(0) if rand < 0.1
    count(:threads)
  rescue NoMethodError, ArgumentError
    nil # of the thread that was joined
  end

  worker("collections") do
    GC.start(full_mark: rand < 0.3)
    sleep(rand * 0.05)
  end

  2.times do |number|
    worker("sessions #{number} over threads that die") do
      next sleep(0.01) unless PROFILED

      session = Profiler::Session.start(**view)
      sleep(rand * 0.01)
      rand < 0.3 ? session.discard : session.stop
      count(:sessions)
    end
  end

  worker("work") { work && sleep(0.001) }
end
