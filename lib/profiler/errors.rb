# frozen_string_literal: true

module Profiler
  # What all errors of the profiler have in common. Wrong values of options are ArgumentError.
  class Error < StandardError; end

  # There is no session to stop: none was started, it was stopped before, or it is the parent process's.
  class NotRunning < Error; end

  # This process cannot be profiled; the message says why.
  class Unsupported < Error; end

  # A file is not a profile, is cut off, comes from elsewhere, or stands for too much; or what is to be written would be too long.
  class FormatError < Error; end
end
