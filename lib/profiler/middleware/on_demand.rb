# frozen_string_literal: true

module Profiler
  class Middleware
    # Permits and profiles requests at its place in the stack of middlewares, for a {Middleware} further out with
    # +permit_inside+. The session and the user are known here, but not further out.
    #
    # The outer middleware starts the recordings that are chosen at random. This one calls +permit+ and starts the requested
    # ones, because no request is profiled before it is permitted.
    #
    # @api private
    class OnDemand
      KEY = "profiler.on_demand"
      # A request for a profile, passed inwards from the +middleware+ further out. +options_text+ has the requested options. +outer+
      # is the recording that yields to the requested one: that of a middleware which observes all requests. +failed+ goes
      # outwards: the recording of an app that raised. +recordings+ are those that began, for {Recording::Policy#guarded}.
      Question = Struct.new(:middleware, :options_text, :recordings, :outer, :failed)

      def initialize(app)
        @app = app
      end

      def call(env)
        question = env.delete(KEY) if Middleware.env?(env)
        question ? question.middleware.on_demand(question, env, @app) : @app.call(env)
      end
    end
  end
end
