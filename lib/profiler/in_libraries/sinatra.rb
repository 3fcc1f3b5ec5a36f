# frozen_string_literal: true

require_relative "routed"

module Profiler
  module InLibraries
    # Labels requests with the route of Sinatra: <tt>GET /orders/:id</tt>.
    module Sinatra
      extend Routed
    end
  end
end
