# frozen_string_literal: true

module Profiler
  module CLI
    # The option +--color+, and coloured output.
    module Color
      CHOICES = %w[auto always never].freeze

      class << self
        # @param choice [String] the value of +--color+; it overrides the environment
        # @param io [IO] the output
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

      private

      def color_option(parser)
        parser.on("--color[=WHEN]", "auto (on a terminal, without NO_COLOR), always or never") { |value| @color = value || "always" }
      end

      # Decides before the work, so that a wrong choice is an error at once.
      def choose_color
        @colored = Color.enabled?(@color || "auto")
      end

      # @param code [Integer, String] the terminal's code of the colour
      def paint(text, code)
        @colored ? "\e[#{code}m#{text}\e[0m" : text
      end
    end
  end
end
