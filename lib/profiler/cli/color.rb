# frozen_string_literal: true

module Profiler
  module CLI
    # Whether output is coloured.
    module Color
      CHOICES = %w[auto always never].freeze

      class << self
        # @param choice [String] what +--color+ said; it wins over the environment
        # @param io [IO] where the output goes
        # @param env [Hash] NO_COLOR and TERM=dumb turn colour off
        # @return [Boolean]
        # @raise [UsageError] for any other choice
        def enabled?(choice, io = $stdout, env = ENV)
          unless CHOICES.include?(choice)
            raise UsageError, "--color #{choice.inspect} is not a choice (allowed: #{CHOICES.join(", ")})"
          end
          return choice == "always" unless choice == "auto"

          io.tty? && env["NO_COLOR"].to_s.empty? && env["TERM"] != "dumb"
        end
      end
    end
  end
end
