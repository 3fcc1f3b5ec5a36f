# frozen_string_literal: true

module Profiler
  module InLibraries
    # Labels examples with +example+: their full description.
    module RSpec
      def self.hook(_configuration)
        return LATER unless ::RSpec.respond_to?(:configure)

        ::RSpec.configure { |config| config.around(:each) { |example| RSpec.labelled(example) } }
      end

      def self.labelled(example)
        return example.run unless Session.covering?

        Profiler.label(example: example.full_description.to_s) { example.run }
      end
    end
  end
end
