# frozen_string_literal: true

require_relative "routed"

module Profiler
  module InLibraries
    # Labels requests with the route of Sinatra: <tt>GET /orders/:id</tt>.
    module Sinatra
      extend Routed

      def call(env)
        Sinatra.wanted?(env) ? Sinatra.labelled(env) { super } : super
      end
    end
  end
end
