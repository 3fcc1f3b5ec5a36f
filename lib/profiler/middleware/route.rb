# frozen_string_literal: true

module Profiler
  class Middleware
    # Labels the samples of a request with few different values, whatever a client sends.
    class Route
      METHODS = %w[GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT].freeze
      private_constant :METHODS

      # @param route [#call, nil] called with the env; returns the route; by default that of Rails or Sinatra
      def initialize(route)
        raise ArgumentError, "route: #{route.inspect} does not respond to call" unless route.nil? || route.respond_to?(:call)

        @route = route
      end

      # @param env [Hash]
      # @param status [Integer, String, nil]
      # @return [Hash{Symbol => String}]
      def labels(env, status)
        method = env["REQUEST_METHOD"]
        code = Integer(status, exception: false)
        {
          method: METHODS.include?(method) ? method : "(other)",
          route: route(env),
          endpoint: endpoint(env["action_controller.instance"]),
          status: code&.between?(100, 599) ? code.to_s : nil,
        }.compact
      end

      private

      def route(env)
        return @route.call(env)&.to_s if @route

        sinatra = env["sinatra.route"]
        env["action_dispatch.route_uri_pattern"] || (sinatra && sinatra.split(" ", 2).last)
      end

      # +users#show+, as far as it exists.
      def endpoint(controller)
        return unless controller.respond_to?(:controller_path) && controller.respond_to?(:action_name)

        action = controller.action_name
        "#{controller.controller_path}##{action}" if action && controller.available_action?(action)
      end
    end
  end
end
