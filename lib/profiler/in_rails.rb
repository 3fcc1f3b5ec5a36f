# frozen_string_literal: true

require_relative "in_libraries/wrapping"

module Profiler
  # Turns the work of Rails into labels and markers: those of requests and jobs, SQL, templates and caches.
  #
  # @api private
  module InRails
    autoload :Actions, "#{__dir__}/in_rails/actions"
    autoload :Jobs, "#{__dir__}/in_rails/jobs"
    autoload :Markers, "#{__dir__}/in_rails/markers"

    # Labels controller actions and Active Job's jobs.
    def self.label
      actions = Actions
      jobs = Jobs
      ActiveSupport.on_load(:active_job) { include jobs unless include?(jobs) }
      wrapping = InLibraries::Wrapping
      ActiveSupport.on_load(:action_controller) { wrapping.wrap(self, :process_action, actions, inherited: true) } if jobs.enabled
    end
  end
end
