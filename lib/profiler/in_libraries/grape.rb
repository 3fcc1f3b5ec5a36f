# frozen_string_literal: true

require_relative "wrapping"

module Profiler
  module InLibraries
    # Labels requests with +endpoint+, <tt>GET /orders/:id(.json)</tt>, and counts those that {Middleware} does not.
    module Grape
      class << self
        def hook(endpoint)
          Middleware.const_get(:Route) # loaded now, as a request can be interrupted in the middle of it
          Wrapping.wrap(endpoint, :call, self)
        end

        # @return [Hash, nil] nil where no route is known
        def labels(env)
          Losses.own(Losses::OF_APPS, ->(_error) {}) do
            route = Middleware::Route.of_grape(env)
            { method: env.fetch("REQUEST_METHOD", nil).to_s, endpoint: "#{env.fetch("REQUEST_METHOD", nil)} #{route}" } if route
          end
        end

        def call(_endpoint, env, *)
          labels = labels(env) if Session.covering? && Middleware.env?(env)
          return yield unless labels

          Requests.label(labels, counted: !env.key?(Middleware::LABELS)) { yield }
        end
      end
    end
  end
end
