# frozen_string_literal: true

require_relative "routed"

module Profiler
  module InLibraries
    # Labels requests and jobs, and marks SQL, templates and caches, as <tt>profiler/rails</tt> does, unless that is there.
    module Rails
      extend Routed

      class << self
        def hook(application)
          return if defined?(Railtie) # configured by the app

          require_relative "../in_rails"
          super
          InRails.label
          InRails::Markers.subscribe
        end
      end

      def call(env)
        Rails.wanted?(env) ? Rails.labelled(env) { super } : super
      end
    end
  end
end
