# frozen_string_literal: true

module Profiler
  class Recording
    # The default modes of recordings, because work can also be slow by waiting.
    module Modes
      ALL = %i[cpu wall].freeze
      private_constant :ALL

      # @param options [Hash] valid options of {Profiler.start}, without modes
      # @return [Symbol, Array<Symbol>] only CPU time if the wall clock cannot be measured; one line then says why
      def self.default(options)
        Session.check(**options, mode: ALL)
        ALL
      rescue ArgumentError, Unsupported => e
        Losses.warn("requests and jobs are profiled by CPU time alone: #{e.message}") unless @warned
        @warned = true
        :cpu
      end
    end
  end
end
