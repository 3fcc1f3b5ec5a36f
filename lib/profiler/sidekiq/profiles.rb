# frozen_string_literal: true

require "zlib"

module Profiler
  class Sidekiq
    # The Profiles tab of Sidekiq's Web UI, which version 8 has. It reads profiles from Redis, in the form of the Firefox Profiler.
    #
    # A job with the option +profile+ gets one, even if it fails: <tt>ImportJob.set(profile: "me").perform_async(7)</tt>. This is in place
    # of Sidekiq's own recorder, which needs Vernier, profiles all threads, and drops the profiles of jobs that fail.
    class Profiles
      OPTION = "profile"
      # The time in seconds that a profile is kept, as long as Sidekiq's own profiles.
      EXPIRY = 86_400
      # The sorted set of all keys, by the time of their end.
      INDEX = "profiles"
      # The job's option with the options of the recorder, and the modes in it that have another name here.
      DETAILS = "profiler_options"
      MODES = { "retained" => :heap }.freeze
      private_constant :EXPIRY, :INDEX, :DETAILS, :MODES

      # Replaces methods of Sidekiq's profiler, so that it only runs the job.
      module InPlace
        # Skips the original, which looks for a directory and fails in some programs.
        def initialize(_config) = nil

        def call(_job) = yield
      end

      # @return [Recording::Policy]
      attr_reader :policy

      # @param options [Hash] as for {Recording::Policy#initialize}, but for its choice of jobs and +out+
      def initialize(**options)
        @policy = Recording::Policy.new(timeline: true, **options, out: method(:store))
        @policy.describer = ->(recording) { [{}, {}, facts(recording.work)] }
        ::Sidekiq::Profiler.prepend(InPlace) if defined?(::Sidekiq::Profiler)
      end

      # Starts the recording of a job, if it has the option.
      #
      # @param job [Hash]
      # @param recordings [Array] as for {Recording::Policy#on_demand}
      # @return [Recording, nil]
      # @raise [Recording::Refused]
      def begin(job, recordings)
        return unless job[OPTION]

        @policy.on_demand(options(job), recordings).tap { |it| it.work = job }
      end

      private

      def options(job)
        mode = job[DETAILS].is_a?(Hash) && job[DETAILS]["mode"]
        return {} unless mode

        mode = MODES.fetch(mode.to_s) { mode.to_s.to_sym }
        { mode: mode, **(%i[heap allocations native].include?(mode) ? { interval: nil } : {}) }
      end

      def facts(job)
        { token: job[OPTION].to_s, jid: job["jid"].to_s, type: (job["wrapped"] || job["class"]).to_s }
      end

      # Stores a result, in the form and under the names that Sidekiq's Web UI reads.
      def store(result)
        token, jid, type = result.profile.meta[:metadata].values_at("token", "jid", "type")
        key = "#{token}-#{jid}"
        data = Zlib.gzip(result.profile.dump("firefox"))
        now = Clock.time
        fields = { "started_at" => (now - result.seconds).to_i, "token" => token, "type" => type, "jid" => jid, "elapsed" => result.seconds.round(6),
                   "size" => data.bytesize, "data" => data }
        ::Sidekiq.redis do |connection|
          connection.multi do |transaction|
            transaction.zadd(INDEX, now + EXPIRY, key)
            transaction.hset(key, *fields.flatten)
            transaction.expire(key, EXPIRY)
          end
        end
      end
    end
  end
end
