# frozen_string_literal: true

# Uses each part of the profiler, loses the files of the gem (ARGV[0]: files or root), and then forks, fails to exec, gets signals
# and ends. Needs a directory in BOX.
require "fileutils"
require "socket"
require "profiler"
$stdout.sync = true
BOX = ENV.fetch("BOX")

def lose_files = FileUtils.rm_rf(File.join(BOX, "lib"))

def lose_root
  Dir.mkdir(File.join(BOX, "root"))
  Dir.chroot(File.join(BOX, "root"))
  Dir.chdir("/")
end

class Sink; def call(profile) = nil; end
Profiler.continuous(period: 60, to: [Sink.new])
Profiler.flight_recorder(out: File.join(BOX, "flights"), signal: "USR1", at: [:exit])
listener = Profiler::Pprof.listen(File.join(BOX, "pprof.sock"))
app = Profiler::Middleware.new(->(_env) { [200, {}, ["ok"]] }, slower_than: 0.001, out: File.join(BOX, "slow"), permit: ->(_env) { true })
work = -> { 200_000.times { |i| i.to_s } }
ARGV == ["root"] ? lose_root : lose_files
work.call
3.times { Process.wait(fork { work.call }); puts $?.exitstatus }
Process.wait(fork { exit!(7) })
puts $?.exitstatus
begin
  exec("/no/such/program")
rescue SystemCallError
  puts $!.class
end
Process.kill(:USR1, $$)
puts app.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "QUERY_STRING" => "profile=cpu").first
socket = (UNIXSocket.new(listener.address) rescue nil)
socket&.write("GET /debug/pprof/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
puts socket ? socket.gets.to_s[/ \d+/] : " 200"
IO.popen("-") { |io| io ? io.read : print("child") }
