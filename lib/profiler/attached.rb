# frozen_string_literal: true

# `profiler attach` has a process load this file, on a Ruby thread of its own, each time that it attaches to the process. It needs nothing
# of the process's load path.
root = File.expand_path("../profiler.rb", __dir__)
# An app may have killed the thread of an earlier attempt. What that had defined is defined again, which must not be seen on stderr.
again = defined?(Profiler::HOME) && !$LOADED_FEATURES.include?(root)
verbose = $VERBOSE
begin
  $VERBOSE = nil if again
  require_relative "../profiler"
ensure
  $VERBOSE = verbose if again
end

Profiler::Control.attach
