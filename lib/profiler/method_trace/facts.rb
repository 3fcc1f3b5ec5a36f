# frozen_string_literal: true

module Profiler
  class MethodTrace
    # What is known about a call that has ended, for the condition and the line of a log.
    class Facts
      # The names in a condition. Durations are milliseconds; +raised+ and +returned+ are names of classes, or nil.
      NAMES = %w[ms running_ms waiting_ms gvl_ms gc_ms raised returned].freeze
      # The states of the thread, in the words of a line.
      STATES = ["running", "waiting", "waiting for the GVL", "collecting garbage"].freeze
      # The share of the duration from which on a line names the state.
      WORTH_NAMING = 0.5
      # The units of a duration, from the largest.
      UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]].freeze
      # What a call raised that was left by +throw+ or the end of its thread.
      THROW = "throw"
      private_constant :STATES, :WORTH_NAMING, :UNITS, :THROW

      # @param times [Array<Integer>] the duration and the time in each state, ns
      # @param raised [Boolean]
      # @param klass [Class, nil] of what it returned or raised; nil for a throw
      def initialize(times, raised, klass)
        @ns, *@states = times
        @raised = raised
        @class = klass
      end

      def raised? = @raised

      # @param name [String] one of {NAMES}, or of a label
      # @return [Float, String, nil]
      def value(name)
        case name
        when "raised" then class_name if @raised
        when "returned" then class_name unless @raised
        else
          place = NAMES.index(name)
          place ? [@ns, *@states].fetch(place) / 1e6 : Profiler.labels[name.to_sym]
        end
      end

      # @return [String] the duration, with the state that took most of it
      def duration
        most = @states.max
        state = ", #{Facts.text(most)} #{STATES.fetch(@states.index(most))}" if most.positive? && most >= @ns * WORTH_NAMING
        "#{Facts.text(@ns)}#{state}"
      end

      # @return [String]
      def outcome = @raised ? "raised #{class_name}" : "returned #{class_name}"

      # @return [String] a duration in its unit
      def self.text(nanoseconds)
        unit, name = UNITS.find { |size, _| nanoseconds >= size } || [1, "ns"]
        number = nanoseconds / unit.to_f
        "#{number >= 100 ? number.round : number.round(number >= 10 ? 1 : 2)} #{name}"
      end

      private

      def class_name = @class ? Native.class_name(@class) : THROW
    end
  end
end
