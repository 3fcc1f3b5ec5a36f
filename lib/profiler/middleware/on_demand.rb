# frozen_string_literal: true

module Profiler
  class Middleware
    # The place in the stack of middlewares where a request that asks for a profile is permitted and profiled, if a {Middleware}
    # further out has +permit_inside+. There the session and the user are known, which they are not further out.
    #
    # @api private
    class OnDemand
      KEY = "profiler.on_demand"

      def initialize(app)
        @app = app
      end

      def call(env)
        middleware, words, outer = env.delete(KEY)
        middleware ? middleware.on_demand(words, env, @app, outer) : @app.call(env)
      end
    end
  end
end
