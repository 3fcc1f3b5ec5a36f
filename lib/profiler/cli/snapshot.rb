# frozen_string_literal: true

require_relative "stop"

module Profiler
  module CLI
    # +profiler snapshot PID+: writes the profile so far of a session in a running process.
    class Snapshot < Stop
      SUMMARY = "Saves a session's profile so far; the session keeps running."
      USAGE = "snapshot [options] PID"
      EXAMPLES = <<~TEXT
        profiler snapshot 4711
        profiler snapshot --session 2 -o so-far.html 4711

        The session is one that profiler start began, by default the newest.
      TEXT
      REQUEST = "snapshot"
    end
  end
end
