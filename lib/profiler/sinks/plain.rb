# frozen_string_literal: true

require_relative "../process/losses"
require_relative "../store/directory"

module Profiler
  module Sinks
    # A sink that has a profile when its method returns: a directory, or a block of the app.
    class Plain
      attr_reader :delivered

      # @param target [Directory, #call]
      def initialize(target)
        @target = target
        forked(false)
      end

      def lost = @losses.count

      def error = @losses.error

      def take(profile)
        own_thread? ? @target.call(profile) : @target.write(profile)
        @delivered += 1
      end

      # A no-op, because the rows of memory are in the profiles.
      def take_memory(_rows) = nil

      # Returns whether the sink needs a thread of its own: a block may take arbitrarily long.
      def own_thread? = !@target.is_a?(Directory)

      def lose(error) = @losses.add(error)

      # A no-op, because no windows wait here.
      def flush(_last) = nil

      def wait(_till) = true

      def forked(_same)
        @delivered = 0
        @losses = Losses.new("a profile was lost")
      end

      def counts = { delivered: delivered, lost: lost }

      def name = own_thread? ? "block" : "directory"
    end
  end
end
