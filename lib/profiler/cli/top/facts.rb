# frozen_string_literal: true

module Profiler
  module CLI
    # The facts of a window about the whole process.
    module Facts
      module_function

      # @param window [Windows::Window]
      # @return [Array<String>]
      def of(window)
        profile, seconds = window.profile, window.seconds
        totals, stats = profile.totals, profile.stats
        share = ->(type) { totals[type] && format("%.0f%%", totals[type] / (seconds * 10_000_000)) }
        states = %w[running runnable blocked waiting gvl gc].zip(state_shares(profile)).filter_map { |name, part| "#{name} #{part}" if part }
        [("CPU #{share.call("cpu")}" if totals["cpu"]), *states, objects(totals, seconds), "#{stats[:samples]} samples",
         ("#{stats[:dropped]} dropped" if stats[:dropped].positive?)].compact
      end

      # Returns the shares of the states in wall clock time.
      def state_shares(profile)
        wall = profile.totals.fetch("wall", 0)
        return [] if wall.zero?

        by = profile.by("state", type: "wall").to_h { |it| [it[:value], it[:weight]] }
        %w[running runnable blocked waiting gvl gc].map { |state| by[state]&.positive? ? Native.percent(by[state], wall) : nil }
      end

      def objects(totals, seconds)
        count = totals["alloc_objects"]
        "#{Native.amount("samples", (count / seconds).round)} objects a second" if count
      end
    end
  end
end
