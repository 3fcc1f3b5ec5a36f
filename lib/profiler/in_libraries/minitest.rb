# frozen_string_literal: true

require_relative "wrapping"

module Profiler
  module InLibraries
    # Labels tests with +example+: +OrderTest#test_total+.
    module Minitest
      class << self
        def hook(test) = Wrapping.wrap(test, :run, self)

        def run(test, *)
          return yield unless Session.covering?

          Profiler.label(example: "#{test.class}##{test.name}") { yield }
        end
      end
    end
  end
end
