# frozen_string_literal: true

# Descriptors and timers at their limits. A session runs or is refused with words; what is left is the app's.
module Stress
  REFUSALS = PROFILED ? [Profiler::Unsupported, Errno::EMFILE] : [Errno::EMFILE]
  LIMITS = { descriptors: [Process::RLIMIT_NOFILE, 20..60], timers: [Process::RLIMIT_SIGPENDING, 0..30] }.freeze

  def self.limited(name)
    limit, range = LIMITS.fetch(name)
    before = Process.getrlimit(limit)
    Process.setrlimit(limit, rand(range), before.last)
    yield
  ensure
    Process.setrlimit(limit, *before)
  end

  def self.with_threads(number)
    threads = Array.new(number) { Thread.new { work(5_000) && sleep } }
    yield
  ensure
    threads&.each(&:kill)&.each(&:join)
    count(:threads, number)
  end

  def self.session_at_the_limit
    return work(500) unless PROFILED

    Profiler.run(**view) { work(500) && Thread.new { work(200) }.join }
    count(:sessions)
  rescue *REFUSALS => e
    count("refused: #{e.message[/\A[^:]*:?[^:;]*/]}"[0, 90])
  end

  # All that the app can open.
  def self.open_all
    files = []
    loop { files << File.open(File::NULL) }
  rescue Errno::EMFILE
    yield files
  ensure
    files&.each(&:close)
  end

  # The limits are the process's: one worker at a time.
  LIMITING = Mutex.new

  worker("limits") do
    LIMITING.synchronize do
      case rand(4)
      when 0 then limited(:timers) { with_threads(20) { session_at_the_limit } }
      when 1 then limited(:descriptors) { with_threads(20) { session_at_the_limit } }
      when 2 then limited(:descriptors) { open_all { |files| files.pop(rand(4)).each(&:close) && with_threads(5) { session_at_the_limit } } }
      else limited(:timers) { limited(:descriptors) { with_threads(10) { session_at_the_limit } } }
      end
    end
  end

  # A counter of perf for each thread is a descriptor: with many threads, the app keeps what it needs.
  worker("descriptors that are left to the app") do
    LIMITING.lock
    before = Process.getrlimit(Process::RLIMIT_NOFILE)
    with_threads(200) do
      Process.setrlimit(Process::RLIMIT_NOFILE, 256, before.last)
      session = PROFILED ? Profiler::Session.start(mode: :cpu) : nil
      sleep(0.1)
      open_all { |files| wrong("too few descriptors", "#{files.size} of 256 are left to the app") if files.size < 100 }
      count(:openings)
    rescue *REFUSALS
      nil
    ensure
      session&.discard
      Process.setrlimit(Process::RLIMIT_NOFILE, *before)
    end
  ensure
    LIMITING.unlock
    sleep(0.01) # the other worker's turn
  end
end
