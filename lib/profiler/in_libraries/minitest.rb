# frozen_string_literal: true

module Profiler
  module InLibraries
    # Labels tests with +example+: +OrderTest#test_total+.
    module Minitest
      def self.hook(test)
        test.prepend(self)
      end

      def run
        return super unless Session.covering?

        Profiler.label(example: "#{self.class}##{name}") { super }
      end
    end
  end
end
