# frozen_string_literal: true

# If another copy of the gem is already loaded, loads the file of that copy.
if defined?(Profiler::HOME) && Profiler::HOME != File.expand_path("..", __dir__)
  require "#{Profiler::HOME}/profiler/sidekiq"
  return
end

require_relative "../profiler"
require_relative "in_libraries/sidekiq"
require_relative "recording/policy"

module Profiler
  # Labels each job in Sidekiq, and profiles jobs that request it or were slow.
  #
  #   Sidekiq.configure_server do |config|
  #     config.server_middleware { |chain| chain.add Profiler::Sidekiq.with(slower_than: 10, mode: %i[cpu wall]) }
  #   end
  #
  # A job requests a profile by an option of its class or of one push: <tt>ImportJob.set("profiler" =>
  # "wall").perform_async(7)</tt>. Its value is true or that of <tt>?profile=</tt>, as <tt>"mode=cpu,wall;interval=500"</tt>.
  # Anyone who pushes jobs can request profiles; +permit+ can check the job if that is not only your app.
  class Sidekiq
    # The option of a job. It is not "profile": Sidekiq 8 profiles such jobs with Vernier, and they fail if that is not
    # installed.
    OPTION = "profiler"

    autoload :Profiles, "#{__dir__}/sidekiq/profiles"

    class << self
      # Creates a middleware with these options. Sidekiq instantiates one for each job, so the class holds what they share.
      #
      # @param permit [#call, nil] called with the job's Hash; decides whether the job may request a profile
      # @param profiles [Boolean] whether jobs with Sidekiq's own option +profile+ get profiles for its Web UI, see {Profiles}
      # @param options [Hash] as for {Recording::Policy#initialize}
      # @return [Class]
      # @raise [ArgumentError]
      def with(permit: nil, profiles: false, **options)
        raise ArgumentError, "permit: #{AnyObject.text(permit)} does not respond to call" unless permit.equal?(nil) || AnyObject.can?(permit, :call)

        policy = Recording::Policy.new(**options)
        for_web = Profiles.new(**options.except(:sample_rate, :slower_than, :out, :format, :keep)) if profiles
        Class.new(self) do
          @permit = permit
          @refusals = Losses.new("a request for a profile was refused")
          @policy = policy
          @profiles = for_web
        end
      end

      # @api private
      attr_reader :permit, :refusals, :profiles

      # @api private
      def policy
        @policy ||= Recording::Policy.new
      end
    end

    # Runs a job. Sidekiq calls this for each one.
    def call(_worker, job, queue, &work)
      labels = InLibraries::Sidekiq.labels(job, queue)
      policy = self.class.policy
      policy.guarded do |recordings|
        recording = policy.quietly { begin_one(policy, job, recordings) }
        Requests.label(labels, counted: !InLibraries::Sidekiq.counted_inside?(job)) do
          next yield unless recording

          begin
            recording.inside(&work)
          ensure
            policy.quietly { recording.finish(labels) }
          end
        end
      end
    end

    private

    def begin_one(policy, job, recordings)
      requested = job[OPTION]
      profiles = self.class.profiles
      may = (requested || (profiles && job[Profiles::OPTION])) && permitted?(job)
      return policy.by_chance(recordings) unless may
      return profiles.begin(job, recordings) unless requested

      policy.on_demand(requested == true ? {} : Middleware::RequestParser.new(nil).parse(requested.to_s), recordings)
    end

    def permitted?(job)
      permit = self.class.permit
      permit.equal?(nil) || Callback.call(self.class.refusals) { permit.call(job) }
    end
  end
end
