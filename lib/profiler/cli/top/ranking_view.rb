# frozen_string_literal: true

module Profiler
  module CLI
    # How +profiler top+ shows windows: the kind of rows, the sample type, the order and the filter.
    class RankingView
      # Sample types that cannot be chosen.
      COUNTS = %w[samples].freeze
      # Labels that the profiler sets itself, not the app.
      OWN = %w[gc gc_reason class].freeze
      private_constant :COUNTS, :OWN

      attr_accessor :by, :filter

      # @param by [String] methods, lines or a label
      # @param type [String, nil]
      # @param total [Boolean, nil] whether to order by total weight
      def initialize(by:, type: nil, total: nil)
        @by = by
        @type = type
        @total = total ? true : false
        @filter = ""
      end

      # Toggles between self and total.
      def turn = @total = !@total

      # Selects the next sample type.
      def next_type(window)
        types = types_of(window.profile)
        @type = types[(types.index(type(window)) + 1) % types.size]
      end

      # Selects the next label that samples have.
      def next_label(window)
        labels = window.profile.samples.flat_map { |it| it.labels.keys }.uniq.sort - OWN
        return if labels.empty?

        @by = labels[((labels.index(@by) || -1) + 1) % labels.size]
      end

      # Returns the sample type that is shown.
      #
      # @return [String]
      def type(window) = @type || Native.default_type(window.profile)

      # Returns the rows of a window.
      #
      # @return [Array<Array>] name, place, total, self and function of each
      def rows(window) = ranking(window, nil, {})[1]

      # Returns the table of a page, as lines.
      #
      # @param before [Windows::Window, nil] the one before
      # @return [Array<String>]
      def table(window, before, height:, columns:, color:, first: 0, selected: nil)
        rows = height.positive? ? { first: first, rows: height, selected: selected } : {}
        ranking(window, before, { columns: columns, color: color, marks: Lines.utf8? ? %w[▲ ▼] : nil, **rows }.compact).last.lines(chomp: true)
      end

      # Returns a line about the window.
      #
      # @return [String]
      def summary(window)
        profile = window.profile
        type = type(window)
        order = "by #{@total ? "total" : "self"}"
        filter = ", with #{@filter.inspect}" unless @filter.empty?
        "#{type} of #{@by}: #{Native.amount(type, profile.totals.fetch(type, 0))} in #{format("%.1f", window.seconds)} s, #{order}#{filter}"
      end

      # Returns the ranking for programs.
      #
      # @return [Hash{Symbol => Object}]
      def to_h(window)
        whole, rows, = ranking(window, nil, {})
        rows = rows.map { |name, place, total, own, _function| { name: name, place: place, total: total, self: own } }
        { seconds: window.seconds.round(3), type: type(window), by: @by, total: whole, rows: rows }
      end

      private

      def ranking(window, before, options)
        Native.ranking(window.profile, before&.profile, { type: type(window), by: @by, sort_total: @total, filter: @filter, **options })
      end

      def types_of(profile) = profile.totals.keys - COUNTS
    end
  end
end
