# frozen_string_literal: true

require_relative "stop"

module Profiler
  module CLI
    # +profiler snapshot PID+: writes the profile so far of a session in a running process.
    class Snapshot < Stop
      SUMMARY = "Writes the profile so far of a process's session, which goes on."
      USAGE = "snapshot [options] PID"
      EXAMPLES = <<~TEXT
        profiler snapshot 4711
        profiler snapshot --session 2 -o so-far.html 4711

        Sessions are those of profiler start. Without --session it is the newest.
      TEXT
      REQUEST = "snapshot"
    end
  end
end
