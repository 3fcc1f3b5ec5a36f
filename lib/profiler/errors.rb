# frozen_string_literal: true

module Profiler
  # The base of all errors of the profiler. Invalid values of options are ArgumentError.
  class Error < StandardError; end

  # Raised if there is no session to stop: none was started, it was stopped before, or it is the parent process's.
  class NotRunning < Error; end

  # Raised if a continuous session is to start while one is running.
  class AlreadyRunning < Error; end

  # Raised if this process cannot be profiled; the message says why.
  class Unsupported < Error; end

  # Raised for a file that is not a profile, is truncated, or expands too much; or if the output would be too long.
  class FormatError < Error; end
end
