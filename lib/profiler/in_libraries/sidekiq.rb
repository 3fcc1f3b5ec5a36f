# frozen_string_literal: true

require_relative "wrapping"

module Profiler
  module InLibraries
    # Labels the jobs of Sidekiq with +job+ and +queue+, and counts them, unless <tt>profiler/sidekiq</tt> is loaded, which does so
    # itself.
    module Sidekiq
      class << self
        # @param chain [Class] the chain of middlewares through which Sidekiq runs jobs, and through which clients push them
        def hook(chain)
          Profiler.const_get(:Requests) # loaded now, as a job can be interrupted in the middle of it
          Wrapping.wrap(chain, :invoke, self)
        end

        # Runs the chain of middlewares. A server passes an instance, the job and the queue; a client passes more.
        def invoke(_chain, *arguments)
          _instance, job, queue = arguments
          return yield unless arguments.size == 3 && Hash === job && Session.covering? && !Profiler.const_defined?(:Sidekiq, false)

          Requests.label(labels(job, queue), counted: !counted_inside?(job)) { yield }
        end

        # Returns the labels of a job. Jobs of Active Job are in a wrapper.
        #
        # @param job [Hash]
        # @param queue [#to_s]
        # @return [Hash{Symbol => String}]
        def labels(job, queue) = { job: (job["wrapped"] || job["class"]).to_s, queue: queue.to_s }

        # Returns whether Active Job counts the job.
        def counted_inside?(job) = job["wrapped"] && defined?(InRails::Jobs)
      end
    end
  end
end
