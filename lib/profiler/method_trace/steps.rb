# frozen_string_literal: true

module Profiler
  class MethodTrace
    # The lines that one call ran, in their order, with the time of each and the local variables that it changed.
    #
    # A line's time lasts until the next one begins, without that of the hooks, and includes all that the line called.
    class Steps
      # The largest number of lines that are listed. Those that follow are added up by line.
      MAX_STEPS = 100
      # The width of a line's source.
      WIDTH = 44
      EQUAL = BasicObject.instance_method(:equal?)
      # A variable that has no value yet.
      NONE = Object.new.freeze
      private_constant :MAX_STEPS, :WIDTH, :EQUAL, :NONE

      # A line that ran: its number, its time in ns, and as text the variables that it changed.
      Step = Struct.new(:number, :ns, :changes)
      private_constant :Step

      # @param values [Values]
      # @param names [Array<String>] the arguments, which have their value from the beginning
      def initialize(values, names)
        @values = values
        @variables = names.to_h { |name| [name, NONE] }
        @arguments = names
        @steps = []
        @rest = Hash.new { |all, number| all[number] = [0, 0] }
        @last = @resumed = nil
      end

      # Ends the line before, and begins another one.
      #
      # @param number [Integer] of the line
      # @param variables [Binding]
      # @param now [Integer] the monotonic clock, ns
      def add(number, variables, now)
        finish(variables, now)
        @last = Step.new(number, 0, [])
      end

      # Ends the last line. The variables are nil if they are not known any more.
      def finish(variables, now)
        changes = variables ? changes_of(variables) : []
        return unless (step = @last)

        @last = nil
        step.ns = now - @resumed
        return @steps << step.tap { step.changes = changes } if @steps.size < MAX_STEPS

        sum = @rest[step.number]
        sum[0] += 1
        sum[1] += step.ns
      end

      # Says that the hook is over and the app's code goes on.
      def resume(now) = @resumed = now

      # @param source [Array<String>] the lines of the file
      # @return [Array<String>]
      def lines(source)
        listed = @steps.map { |step| line(step.number, Facts.text(step.ns), source, step.changes.join(", ")) }
        rest = @rest.map { |number, (count, ns)| line(number, Facts.text(ns), source, "#{count} times more") }
        rest.any? ? [*listed, "        and after these #{MAX_STEPS} lines, by line:", *rest] : listed
      end

      private

      def changes_of(variables)
        variables.local_variables.filter_map do |name|
          value = variables.local_variable_get(name)
          name = name.name
          before = @variables.fetch(name, NONE)
          next if EQUAL.bind_call(before, value)

          @variables[name] = value
          # Arguments are in the line of the call; other variables exist, and are nil, before anything is assigned to them.
          next if EQUAL.bind_call(before, NONE) && (@arguments.include?(name) || nil.equal?(value))

          "#{name} = #{@values.of(name, value)}"
        end
      end

      def line(number, time, source, changes)
        code = source[number - 1].to_s.strip
        code = "#{code[0, WIDTH - 3]}..." if code.size > WIDTH
        format("%6d %9s  %-#{WIDTH}s  %s", number, time, code, changes).rstrip
      end
    end
  end
end
