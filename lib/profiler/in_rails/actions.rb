# frozen_string_literal: true

module Profiler
  module InRails
    # What a controller does stands under the label +endpoint+: +users#show+. Put before the controllers' own methods.
    module Actions
      def process_action(...)
        recording = request.env[Middleware::RECORDING]
        return Profiler.label(endpoint: "#{controller_path}##{action_name}") { super } unless recording

        # ActionController::Live has a thread of its own for each action.
        recording.inside { Profiler.label(endpoint: "#{controller_path}##{action_name}") { super } }
      end
    end
  end
end
