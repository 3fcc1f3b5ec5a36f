# frozen_string_literal: true

module Profiler
  class Middleware
    # The pattern of a path: +/orders/:id+ of <tt>/orders/17</tt>. Numbers, dates, UUIDs, hexadecimal digests and tokens are
    # replaced. A version as in <tt>/api/v1</tt> stays.
    module PathPattern
      NUMBER = /\d[\d-]*/.freeze
      DIGEST = /(?=[^\/.]*\d)\h[\h-]{7,}/.freeze
      TOKEN = /(?=[^\/.]*\d)[^\/.]{20,}|[^\/.]{64,}/.freeze
      ID = /(?<=\/)(?:#{NUMBER}|#{DIGEST}|#{TOKEN})(?=[\/.]|\z)/.freeze
      LONGEST = 200 # characters
      private_constant :NUMBER, :DIGEST, :TOKEN, :ID, :LONGEST

      # @param path [String] valid text
      # @return [String]
      def self.of(path) = path.gsub(ID, ":id")[0, LONGEST]

      # Returns a path, or a part of one, as valid text: a client can send any bytes.
      #
      # @param path [String]
      # @return [String] in UTF-8, or in ASCII
      def self.text(path)
        return path if path.ascii_only?

        path.dup.force_encoding(Encoding::UTF_8).scrub("?")
      end
    end

    # Labels the samples of a request with few different values, whatever a client sends.
    #
    # The endpoint of a request is only known once the app has found it. When the request begins, it is labelled with the
    # endpoint of earlier requests with the same method and a similar path, or else with both: <tt>GET /orders/:id</tt>.
    class Route
      METHODS = %w[GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT].freeze
      OTHER = "(other)"
      # The number of endpoints that are kept apart per minute: a session keeps 4,096 sets of labels apart between two profiles.
      MAX_ENDPOINTS = 1_000
      MINUTE = 60
      private_constant :METHODS, :OTHER, :MAX_ENDPOINTS, :MINUTE

      # @param route [#call, nil] called with the env; returns the route; by default that of Rails, Sinatra or Grape
      def initialize(route)
        raise ArgumentError, "route: #{AnyObject.text(route)} does not respond to call" unless route.equal?(nil) || AnyObject.can?(route, :call)

        @route = route
        @losses = Losses.new("a request has no endpoint")
        # Endpoints by method and path: nil while none was found, true if they differ between requests.
        @endpoints = {}
        @cleared_at = Clock.now
      end

      # @param env [Hash] of a request that begins
      # @param path [String] the result of {Route.path}
      # @return [Hash{Symbol => String}]
      def early_labels(env, path)
        place = place(env, path)
        known = @endpoints[place]
        known = @endpoints.key?(place) || add(place) ? place : OTHER unless known.is_a?(String)
        { method: method_of(env), endpoint: known }
      end

      # @param env [Hash] of a request whose response is known
      # @param path [String] as it was when the request began: apps change it
      # @param status [Integer, String, nil]
      # @return [Hash{Symbol => String}, nil] nil after an error of the app's callback
      def labels(env, path, status)
        Callback.call(@losses) do
          route = route(env)
          late_labels(env, route, endpoint(env, route) || early_labels(env, path)[:endpoint], status)
        end
      end

      # Remembers the endpoint of a request that has ended, for later requests.
      #
      # @param env [Hash]
      # @param path [String] as it was when the request began
      # @param early [Hash] the labels with which it began
      # @param status [Integer, String, nil]
      # @return [Hash{Symbol => String}, nil] the labels of {labels}, with the endpoint that its samples have
      def learn(env, path, early, status)
        Callback.call(@losses) do
          route = route(env)
          found = endpoint(env, route)
          note(place(env, path), found) if found && found != early[:endpoint]
          late_labels(env, route, action(env) || early[:endpoint], status)
        end
      end

      # @param script_name [String, nil]
      # @param path_info [String, nil]
      # @return [String] the path as it was sent, without its query
      def self.path(script_name, path_info)
        # A server passes bytes, and the name of a mount is text.
        path = [script_name, path_info].grep(String).map { |part| PathPattern.text(part) }.join
        path.empty? ? "/" : path
      end

      # @param object [Object] the status of an app's response
      # @return [String, nil] nil for what is none
      def self.status(object)
        code = Integer === object ? object : Integer(AnyObject.utf8(object).to_s, 10, exception: false)
        code.to_s if code&.between?(100, 599)
      end

      # @param env [Hash]
      # @return [String, nil] the route that Grape has found
      def self.of_grape(env)
        arguments = env.fetch("grape.routing_args", nil)
        route = arguments.fetch(:route_info, nil) if Hash === arguments
        route.pattern.origin if route.respond_to?(:pattern) && route.pattern.respond_to?(:origin)
      end

      private

      def note(place, found)
        known = @endpoints[place]
        return if known.equal?(true) || known == found || !@endpoints.key?(place)

        @endpoints[place] = known ? true : found
      end

      def late_labels(env, route, endpoint, status)
        labels = { method: method_of(env), endpoint: endpoint }
        labels[:route] = route if route
        code = Route.status(status)
        labels[:status] = code if code
        labels
      end

      def method_of(env)
        method = env.fetch("REQUEST_METHOD", nil)
        METHODS.include?(method) ? method : OTHER
      end

      def place(env, path) = "#{method_of(env)} #{PathPattern.of(path)}"

      # @return [Boolean] whether it is kept apart
      def add(place)
        if @endpoints.size >= MAX_ENDPOINTS
          return false if Clock.now - @cleared_at < MINUTE

          @endpoints.clear
          @cleared_at = Clock.now
        end
        @endpoints[place] = nil
        true
      end

      def route(env)
        if @route
          found = @route.call(env)
          return found.equal?(nil) ? nil : AnyObject.own_text(found)
        end

        sinatra = env.fetch("sinatra.route", nil)
        env.fetch("action_dispatch.route_uri_pattern", nil) || (sinatra && sinatra.split(" ", 2).last) || Route.of_grape(env)
      end

      # Returns +users#show+ for an action of Rails that exists, or else the method and the route.
      def endpoint(env, route)
        action(env) || (route && "#{method_of(env)} #{route}")
      end

      def action(env)
        controller = env.fetch("action_controller.instance", nil)
        return unless controller.respond_to?(:controller_path) && controller.respond_to?(:action_name)

        action = controller.action_name
        "#{controller.controller_path}##{action}" if action && controller.available_action?(action)
      end
    end
  end
end
