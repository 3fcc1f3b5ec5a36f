# frozen_string_literal: true

module Profiler
  class Flight
    # Handles the end of the process.
    module Ends
      class << self
        # Sets the hook, once.
        def watch
          @watch ||= at_exit { Flight.end_process($!) } || true
        end
      end
    end
  end
end
