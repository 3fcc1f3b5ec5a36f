# Not frozen: the lines are those of the document.
require "socket"

client, @bank = UNIXSocket.pair
client.sync = true
client.fcntl(4, 0) # F_SETFL: a socket whose read waits
Thread.new { client.sysread(1) }
loop { Array.new(1_000, &:to_s) }
