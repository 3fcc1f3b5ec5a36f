# frozen_string_literal: true

module Profiler
  # Labels jobs, and counts them in the running sessions.
  module Requests
    # Runs the block, which is a job, or a part of one that is counted elsewhere.
    #
    # @param labels [Hash{Symbol => String}]
    # @return what the block returns
    def self.label(labels, counted: true, &block)
      return Profiler.label(labels, &block) unless counted && defined?(Session) && Session.covering?

      began_ns = Clock.now_ns
      begin
        Profiler.label(labels, &block)
      ensure
        Native.count_request(labels, began_ns)
      end
    end
  end
  private_constant :Requests
end
