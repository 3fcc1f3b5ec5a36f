# frozen_string_literal: true

require "etc"
require "fileutils"

require_relative "attach/joining"
require_relative "attach/target"
require_relative "control"

module Profiler
  # Attaches to a running process that has not loaded the profiler, so that it has a control socket. Experimental.
  #
  # @api private
  module Attach
    # Raised if it is impossible to attach to a process; the message says why, and what to do.
    class Refused < Error; end

    # Raised if it is impossible at the moment.
    class NotYet < Refused; end

    # The seconds for which a process is asked.
    PATIENCE = 10.0
    # The Rubies with which it was tested.
    RUBIES = %w[3.1 3.3 3.4 4.0].freeze

    class << self
      # @param pid [Integer]
      # @param patience [Numeric] seconds
      # @return [Joined]
      # @raise [Refused]
      def join(pid, patience: PATIENCE)
        raise Refused, "cannot attach to process #{pid}: only Linux on x86-64 is supported" unless defined?(Attachment)

        Joining.new(pid, patience).run
      rescue Refused => e
        raise e.class, "cannot attach to process #{pid}: #{e.message}"
      end
    end
  end
end
