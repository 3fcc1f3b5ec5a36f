# frozen_string_literal: true

module Profiler
  module CLI
    # One line on a terminal about work that takes long, and nothing anywhere else.
    class Progress
      # Work that is done by then needs no line.
      AFTER = 0.5

      # @param io [IO] where people look
      # @param env [Hash] TERM=dumb has no way back in a line
      def initialize(io = $stderr, env = ENV)
        @io = io
        @on = io.tty? && env["TERM"] != "dumb"
        @began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        @shown = false
      end

      # Does something with each, and says which it is at.
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

      private

      def show(text)
        return unless @on && Process.clock_gettime(Process::CLOCK_MONOTONIC) - @began > AFTER

        @shown = true
        @io.print("\r\e[K#{text[0, 78].inspect[1..-2]}")
      end

      def clear
        @io.print("\r\e[K") if @shown
        @shown = false
      end
    end
  end
end
