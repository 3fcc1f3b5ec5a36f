# frozen_string_literal: true

module Profiler
  module InLibraries
    # Labels and counts requests as {Middleware} does, unless that is there: <tt>GET /orders/:id</tt>.
    module Sinatra
      class << self
        def hook(base)
          # Loaded now, as a request can be interrupted in the middle of it.
          @route = Middleware::Route.new(nil)
          base.prepend(self)
        end

        def labelled(env)
          begun = Clock.now
          path = Middleware::Route.path(env["SCRIPT_NAME"], env["PATH_INFO"])
          early = env[Middleware::LABELS] = @route.early_labels(env, path)
          begin
            response = Profiler.label(early) { yield }
          ensure
            status = response.first if response.is_a?(Array)
            labels = Losses.own(Losses::OF_APPS, ->(_error) {}) { @route.learn(env, path, early, status) }
            Native.count_request(labels || early, begun)
          end
        end
      end

      def call(env)
        return super if env.key?(Middleware::LABELS) || !Session.covering?

        Sinatra.labelled(env) { super }
      end
    end
  end
end
