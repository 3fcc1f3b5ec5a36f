# frozen_string_literal: true

# Closes all descriptors during an upload to URL, and reuses their numbers for sockets and files in BOX. Prints whether these have
# just what was written to them, and what became of the windows.
require_relative "../helpers"
require_relative "windows"

def close(number)
  link = File.readlink("/proc/self/fd/#{number}") rescue return
  # Below Ruby, which would wake the thread that waits.
  link.start_with?("socket:") && RUBY_PLATFORM.start_with?("x86_64-linux") ? syscall(3, number) : IO.for_fd(number).close
rescue ArgumentError, SystemCallError
  nil # Ruby's own
end
session = send_to(ENV.fetch("URL"))
windows(1)
wait_for { counts[:bytes].positive? }
sleep 0.3
3.upto(255) { |number| close(number) }
pairs = Array.new(4) { Socket.pair(:UNIX, :STREAM) }
pairs.each { |pair| pair[0].write("mine") }
files = Array.new(4) { |number| File.open(File.join(ENV.fetch("BOX"), "file.#{number}"), "w+") }
wait_for { counts[:waiting].zero? }
session.stop
GC.start
print_json(read: pairs.map { |pair| pair[1].read_nonblock(9, exception: false) },
           back: pairs.map { |pair| pair[0].read_nonblock(9, exception: false) },
           files: files.map { |file| (file.write("x"); file.flush; file.size) }, counts: counts)
