# frozen_string_literal: true

require_relative "wrapping"

module Profiler
  module InLibraries
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
