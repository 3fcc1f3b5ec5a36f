# frozen_string_literal: true

module Profiler
  module CLI
    # Shows the progress of long work as a single line on a terminal, and stays silent elsewhere.
    class Progress
      # The delay before the line appears, in seconds.
      AFTER = 0.5

      # @param io [IO] the terminal, if it is one
      # @param env [Hash] TERM=dumb cannot go back in a line
      def initialize(io = $stderr, env = ENV)
        @io = io
        @on = io.tty? && env["TERM"] != "dumb"
        @began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        @shown = false
      end

      # Yields each name, and shows which one is being processed.
      #
      # @param verb [String] +reading+
      # @param names [Array<String>]
      # @return [Array] what the block returned
      def each(verb, names)
        names.each_with_index.map do |name, place|
          show("#{verb} #{place + 1} of #{names.size}: #{File.basename(name)}") if names.size > 1
          yield name
        end
      ensure
        clear
      end

      # Yields, and shows which of +count+ names this is.
      #
      # @return what the block returns
      def step(verb, count, name)
        @steps = (@steps || 0) + 1
        show("#{verb} #{@steps} of #{count}: #{File.basename(name)}")
        yield
      end

      # Removes the line.
      def clear
        @io.print("\r\e[K") if @shown
        @shown = false
      end

      private

      def show(text)
        return unless @on && Process.clock_gettime(Process::CLOCK_MONOTONIC) - @began > AFTER

        @shown = true
        @io.print("\r\e[K#{text[0, 78].inspect[1..-2]}")
      end
    end
  end
end
