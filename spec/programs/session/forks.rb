# frozen_string_literal: true

# Ends and begins processes in every way that Ruby has. Each tells, in a file of the directory LOG, its pid,
# how it came about and the CPU time, at the end, of its main thread and of the whole process, in ns.
def burn(milliseconds)
  till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) + milliseconds
  10.times { |number| number + 1 } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) < till
end

def clocks
  [Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond),
   Process.clock_gettime(:GETRUSAGE_BASED_CLOCK_PROCESS_CPUTIME_ID, :nanosecond)]
end

def log_clocks(kind)
  used = clocks.zip($before).map { |now, before| now - before }
  File.write(File.join(ENV.fetch("LOG"), "#{Process.pid}.#{kind}"), used.join(" "))
end

def child(kind)
  $before = [0, 0] # a new process has used none
  Object.send(:define_method, :"as_#{kind}") { burn(50) }
  Object.new.send(:"as_#{kind}")
  yield if block_given?
  log_clocks(kind)
end

RUBY = RbConfig.ruby
$before = clocks
if ARGV.first == "other"
  burn(30)
  log_clocks("other_ruby")
  exit
end
ended = []
wait = ->(pid) { ended << Process.wait2(pid).last }

wait.(fork { child("fork") })
wait.(Thread.new { fork { child("thread") } }.value)
wait.(fork { child("parent") { wait.(fork { child("grandchild") }) } })
wait.(fork { child("exit_now"); exit!(0) })
wait.(fork { child("thread_in_child") { Thread.new { burn(10) }.join } })
pid = fork
if pid.nil?
  child("without_block")
  exit
end
wait.(pid)
ended << IO.popen("-") { |io| io ? io.read : child("popen") }.then { $? }
wait.(fork { child("daemon_parent"); Process.daemon(true); child("daemon") })
wait.(fork { exec("sleep", "0.01") })
wait.(fork { child("before_exec"); exec("sleep", "0.01") })
wait.(fork { exec(RUBY, __FILE__, "other") })
`echo 1`
system("true") || abort
IO.popen("cat", "r+") { |io| io.puts(1); io.close_write; io.read }
wait.(spawn("sleep 0.01"))
Integer(ENV.fetch("FORKS", "50")).times { wait.(fork { $before = [0, 0]; 50.times { |number| number.to_s }; log_clocks("one_of_many") }) }
burn(50)
log_clocks("main")
abort ended.reject(&:success?).inspect unless ended.all?(&:success?)
