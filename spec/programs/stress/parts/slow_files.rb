# frozen_string_literal: true

require_relative "../injection"
require "tmpdir"

# Files on a disk that stands still until another thread of this very process has had its turn.
#
# The file is a pipe with a name, whose reader waits for a word from that thread. If the writer keeps the GVL, the word never
# comes: the watcher outside sees a process that hangs.
module Stress
  SLOW = Dir.mktmpdir("slow")
  pid = Process.pid
  at_exit { FileUtils.rm_rf(SLOW) if Process.pid == pid }

  # Writes to a file that nobody reads until the block, on this thread, has returned.
  def self.write_slowly(result, format)
    number = (@slow = @slow.to_i + 1)
    path = "#{SLOW}/#{Thread.current.object_id}.#{number}"
    File.mkfifo(path)
    hold, go = IO.pipe
    reader = spawn("sh", "-c", 'read word; exec cat "$0"', path, in: hold, out: File::NULL)
    hold.close
    writer = Thread.new { result.write_into(path, format, gzip: false) }
    sleep(0.01)
    yield writer
    go.puts("go")
    count(:slow_files)
    wrong("a writer that does not end", writer.backtrace.inspect) unless wait_for(HANG) { !writer.alive? }
    outcome(writer)
  ensure
    go&.close
    Process.kill(:KILL, reader) && Process.wait(reader) if reader
    File.unlink(path)
  end

  def self.outcome(writer)
    writer.value
    :written
  rescue *INJECTED => e
    e
  end

  result = PROFILED ? Profiler.run(mode: :cpu, interval: 50, timeline: true) { work(50_000) } : nil
  formats = %w[pprof folded json firefox speedscope svg]

  worker("slow files") do
    next sleep(0.1) unless PROFILED

    outcome = write_slowly(result, formats.sample) { work(50) }
    wrong("a file that was not written", outcome.inspect) unless outcome == :written
  end
  worker("exceptions into slow files") do
    next sleep(0.1) unless PROFILED

    outcome = write_slowly(result, formats.sample) do |writer|
      writer.raise(Injected.new(1))
      count(:injected)
      sleep(rand * 0.01)
    end
    outcome.is_a?(Injected) ? count(:arrived) : wrong("a lost exception", "into a slow file: #{outcome}")
  end
  worker("kills into slow files") do
    next sleep(0.1) unless PROFILED

    write_slowly(result, formats.sample) do |writer|
      writer.kill
      count(:killed)
      sleep(rand * 0.01)
    end
  end
  worker("forks beside slow files") do
    _pid, status = Process.wait2(fork { PROFILED && result.to_pprof; exit!(0) })
    wrong("a child that died", status.to_s) unless status.success?
    count(:forks)
    sleep(0.02)
  end
  worker("sessions beside slow files") do
    next sleep(0.1) unless PROFILED

    Profiler.run(**view) { work(20) && sleep(0.01) }
    count(:sessions)
  end
end
