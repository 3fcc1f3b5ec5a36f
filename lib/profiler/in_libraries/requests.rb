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

    # Labels requests with the route of Sinatra: <tt>GET /orders/:id</tt>.
    module Sinatra
      extend Routed
    end

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

    # Labels requests with +endpoint+, the class of the action: <tt>Bookshelf::Actions::Books::Show</tt>.
    module Hanami
      class << self
        def hook(action)
          Profiler.const_get(:Middleware) # loaded now, as a request can be interrupted in the middle of it
          Wrapping.wrap(action, :call, self)
        end

        def call(action, env, *)
          return yield unless Session.covering?

          labels = { endpoint: action.class.name || "(anonymous)" }
          Requests.label(labels, counted: Hash === env && !env.key?(Middleware::LABELS)) { yield }
        end
      end
    end
  end
end
