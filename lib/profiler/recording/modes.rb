# frozen_string_literal: true

module Profiler
  class Recording
    # The default modes of recordings, because work can also be slow by waiting.
    module Modes
      ALL = %i[cpu wall].freeze
      private_constant :ALL

      # @param options [Hash] valid ones of {Profiler.start}, without modes
      # @return [Symbol, Array<Symbol>] CPU time alone where the wall clock cannot be measured, for which one line says why
      def self.default(options)
        Session.check(**options, mode: ALL)
        ALL
      rescue ArgumentError, Unsupported => e
        Losses.say("requests and jobs are profiled by CPU time alone: #{e.message}") unless @warned
        @warned = true
        :cpu
      end
    end
  end
end
