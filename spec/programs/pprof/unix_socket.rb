# frozen_string_literal: true

# Listens on the Unix socket that is given: on a stale one, on one that is in use, and where something else lies. Prints what each
# attempt raised, and what clients got.
require_relative "../helpers"
require_relative "listener"

path = ARGV.fetch(0)
# One that a process left behind.
Process.wait(fork { UNIXServer.new(path); exit!(0) })
stale = File.socket?(path)
listener = listen(path, token: nil)
mode = File.stat(path).mode.to_s(8)
answered = send_raw(path, head("/debug/pprof/"))
used = error { listen(path) }
children = Dir.children(File.dirname(path))
listener.close
File.write(path, "mine")
file = error { listen(path) }
File.delete(path)
File.symlink("elsewhere", path)
link = error { listen(path) }
File.delete(path)
long = error { listen(path + "x" * 200) }
listen(path) # with a token
print_json(stale: stale, mode: mode, answered: status(answered), used: used, children: children, file: file, link: link,
           long: long[/\A\w+/], address: listener.address,
           token: [status(send_raw(path, head("/metrics"))), status(get(path, "/metrics"))])
