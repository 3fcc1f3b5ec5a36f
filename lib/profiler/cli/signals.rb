# frozen_string_literal: true

module Profiler
  module CLI
    # For commands that run until a signal arrives, and then print their result.
    module Signals
      # The signals that end them.
      ENDS = %w[INT TERM HUP].freeze
      private_constant :ENDS

      private

      # Runs the block with an IO that becomes readable at a signal that ends the command's wait. The next one ends the command.
      def until_a_signal
        reader, writer = IO.pipe
        before = ENDS.to_h do |signal|
          [signal, trap(signal) do
            writer.write_nonblock(".", exception: false)
            ENDS.each { |it| trap(it, "DEFAULT") }
          end]
        end
        before.each { |signal, handler| trap(signal, handler) if handler == "IGNORE" }
        yield reader
      ensure
        before&.each { |signal, handler| trap(signal, handler || "DEFAULT") }
        [reader, writer].compact.each(&:close)
      end
    end
  end
end
