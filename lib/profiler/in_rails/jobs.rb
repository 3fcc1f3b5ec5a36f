# frozen_string_literal: true

require_relative "../recording/policy"

module Profiler
  module InRails
    # Jobs of Active Job stand under the labels +job+ and +queue+; those whose class says so are profiled, each by itself:
    #
    #   class ImportJob < ApplicationJob
    #     profiled slower_than: 5, mode: %i[cpu wall]
    #   end
    module Jobs
      class << self
        # Whether those that are to be profiled are.
        attr_accessor :enabled
      end
      self.enabled = true

      def self.included(base)
        base.extend(ClassMethods)
        base.around_perform do |job, block|
          Profiler.label(job: job.class.name || "(anonymous)", queue: job.queue_name) { Jobs.perform(job, &block) }
        end
      end

      # The block, profiled if the job's class asks for it.
      def self.perform(job)
        policy = job.class.profiler_policy if enabled
        return yield unless policy

        policy.guarded do
          recording = policy.quietly { policy.idle? ? policy.on_demand : policy.by_chance }
          next yield unless recording

          begin
            recording.inside { yield }
          ensure
            policy.quietly { recording.finish(job: job.class.name, queue: job.queue_name) }
          end
        end
      end

      # For the classes of jobs.
      module ClassMethods
        # @param options [Hash] as for {Recording::Policy#initialize}; with neither +sample_rate+ nor +slower_than+ every job is profiled
        # @raise [ArgumentError]
        def profiled(**options)
          @profiler_policy = Recording::Policy.new(**{ out: ::Rails.root&.join("tmp", "profiler") || "tmp/profiler" }.merge(options))
        end

        # @api private
        def profiler_policy
          return @profiler_policy if defined?(@profiler_policy)

          superclass.respond_to?(:profiler_policy) ? superclass.profiler_policy : nil
        end
      end
    end
  end
end
