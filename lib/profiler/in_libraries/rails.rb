# frozen_string_literal: true

require_relative "../in_rails"
require_relative "requests"

module Profiler
  module InLibraries
    # Labels requests and jobs, and marks SQL, templates and caches, as <tt>profiler/rails</tt> does, unless that is there.
    module Rails
      extend Routed

      class << self
        # Rails may be loaded before the app requires <tt>profiler/rails</tt>, but is initialized after that.
        def hook(application)
          install = lambda do
            super(application, inherited: true)
            InRails.label
            InRails::Markers.subscribe
          end
          ActiveSupport.on_load(:before_initialize) { InLibraries.guarded(:Rails, &install) unless defined?(Railtie) }
        end
      end
    end
  end
end
