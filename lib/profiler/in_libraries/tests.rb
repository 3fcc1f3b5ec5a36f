# frozen_string_literal: true

require_relative "wrapping"

module Profiler
  module InLibraries
    # Labels examples with +example+: their full description.
    module RSpec
      # Lines of backtraces that belong to the hook.
      OWN_LINES = %r{\A#{Regexp.escape(HOME)}/profiler(?:/in_libraries/|\.rb:)}.freeze
      private_constant :OWN_LINES

      def self.hook(_configuration)
        return LATER unless ::RSpec.respond_to?(:configure)

        ::RSpec.configure do |config|
          config.around(:each) { |example| RSpec.labelled(example) }
          config.backtrace_exclusion_patterns << OWN_LINES # or each failure would show the hook
        end
      end

      def self.labelled(example)
        return example.run unless Session.covering?

        Profiler.label(example: example.full_description.to_s) { example.run }
      end
    end

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
