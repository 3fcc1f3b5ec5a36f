# frozen_string_literal: true

module Profiler
  class Middleware
    # The place in the stack of middlewares where a request that asks for a profile is permitted and profiled, if a {Middleware}
    # further out has +permit_inside+. There the session and the user are known, which they are not further out.
    #
    # @api private
    class OnDemand
      KEY = "profiler.on_demand"
      # What goes from the +middleware+ further out to here: the +words+ that ask, and its recording of the request if it watches
      # all, +outer+, which gives way to one that is asked for. What goes back: the recording of an app that raised, +failed+.
      Question = Struct.new(:middleware, :words, :outer, :failed)

      def initialize(app)
        @app = app
      end

      def call(env)
        question = env.delete(KEY)
        question ? question.middleware.on_demand(question, env, @app) : @app.call(env)
      end
    end
  end
end
