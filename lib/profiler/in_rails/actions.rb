# frozen_string_literal: true

module Profiler
  module InRails
    # Labels controller actions with +endpoint+: +users#show+.
    module Actions
      def self.process_action(controller, *)
        recording = controller.request.env.fetch(Middleware::RECORDING, nil)
        endpoint = "#{controller.controller_path}##{controller.action_name}"
        return Profiler.label(endpoint: endpoint) { yield } unless recording

        # ActionController::Live runs each action on a thread of its own.
        recording.inside { Profiler.label(endpoint: endpoint) { yield } }
      end
    end
  end
end
