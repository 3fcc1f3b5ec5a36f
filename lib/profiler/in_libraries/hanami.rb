# frozen_string_literal: true

module Profiler
  module InLibraries
    # Labels requests with +endpoint+, the class of the action: <tt>Bookshelf::Actions::Books::Show</tt>.
    module Hanami
      def self.hook(action)
        Profiler.const_get(:Middleware) # loaded now, as a request can be interrupted in the middle of it
        action.prepend(self)
      end

      def call(env, *more)
        return super unless Session.covering?

        labels = { endpoint: self.class.name || "(anonymous)" }
        Requests.label(labels, counted: Hash === env && !env.key?(Middleware::LABELS)) { super }
      end
    end
  end
end
