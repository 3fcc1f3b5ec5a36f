# frozen_string_literal: true

module Profiler
  module InRails
    # Labels controller actions with +endpoint+: +users#show+. It is prepended to controllers.
    module Actions
      def process_action(...)
        recording = request.env.fetch(Middleware::RECORDING, nil)
        return Profiler.label(endpoint: "#{controller_path}##{action_name}") { super } unless recording

        # ActionController::Live runs each action on a thread of its own.
        recording.inside { Profiler.label(endpoint: "#{controller_path}##{action_name}") { super } }
      end
    end
  end
end
