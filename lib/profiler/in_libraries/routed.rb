# frozen_string_literal: true

require_relative "wrapping"

module Profiler
  module InLibraries
    # Extends the hooks of an app's class. Labels and counts requests by the route that the app has found, as {Middleware} does,
    # unless that is there.
    module Routed
      # @param inherited [Boolean] as for {Wrapping.wrap}
      def hook(app, inherited: false)
        # Loaded now, as a request can be interrupted in the middle of it.
        @route = Middleware::Route.new(nil)
        Wrapping.wrap(app, :call, self, inherited: inherited)
      end

      def call(_app, env, *)
        wanted?(env) ? labelled(env) { yield } : yield
      end

      private

      # Returns whether a request is to be labelled.
      def wanted?(env) = Session.covering? && Middleware.env?(env) && !env.key?(Middleware::LABELS)

      def labelled(env)
        began_ns = Clock.now_ns
        path = Middleware::Route.path(env.fetch("SCRIPT_NAME", nil), env.fetch("PATH_INFO", nil))
        early = env[Middleware::LABELS] = @route.early_labels(env, path)
        begin
          response = Profiler.label(early) { yield }
        ensure
          status = response.first if Array === response
          labels = Losses.own(Losses::OF_APPS, ->(_error) {}) { @route.learn(env, path, early, status) }
          Native.count_request(labels || early, began_ns)
        end
      end
    end
  end
end
