# frozen_string_literal: true

require_relative "../recording/policy"

module Profiler
  module InRails
    # Labels Active Job's jobs with +job+ and +queue+, and profiles those whose class is +profiled+:
    #
    #   class ImportJob < ApplicationJob
    #     profiled slower_than: 5, mode: %i[cpu wall]
    #   end
    module Jobs
      class << self
        # Whether jobs are profiled.
        attr_accessor :enabled
      end
      self.enabled = true

      def self.included(base)
        base.extend(ClassMethods)
        base.around_perform do |job, block|
          Requests.label({ job: job.class.name || "(anonymous)", queue: job.queue_name.to_s }) { Jobs.perform(job, &block) }
        end
      end

      # Runs the block, profiled if the job's class is.
      def self.perform(job)
        policy = job.class.profiler_policy if enabled
        return yield unless policy

        policy.guarded do |recordings|
          recording = policy.quietly { policy.idle? ? policy.on_demand({}, recordings) : policy.by_chance(recordings) }
          next yield unless recording

          begin
            recording.inside { yield }
          ensure
            policy.quietly { recording.finish(job: job.class.name, queue: job.queue_name) }
          end
        end
      end

      # Class methods of jobs.
      module ClassMethods
        # Profiles the jobs of this class: every one, unless +sample_rate+ or +slower_than+ is given.
        #
        # @param options [Hash] as for {Recording::Policy#initialize}
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
