# frozen_string_literal: true

# Programs for exec, one of which takes long to be found. Needs the helpers.

# Burns CPU for a while as another program, and says that it got to its end.
BURN = ["/bin/sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo alive"].freeze
ENGINES = %w[setitimer ticker thread_timer].freeze

# Returns the exit status, or the signal, of a child that ends in the block.
def status(engine) = Process.wait2(fork { yield engine })[1].then { |it| it.termsig || it.exitstatus }

# Runs the block while another thread is in exec.
def slow_exec
  go, ready = Queue.new, Queue.new
  name = Object.new
  name.define_singleton_method(:to_str) { ready << true; go.pop; "/no/such/program" }
  other = Thread.new { error { exec(name) } }
  ready.pop
  yield
  go << true
  other.join
end
