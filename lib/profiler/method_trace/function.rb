# frozen_string_literal: true

module Profiler
  class MethodTrace
    # A function that ran inside of the traced calls: see {MethodTrace#functions}.
    #
    # * +name+, +path+, +line+: as in profiles; the path of a C function is <tt><cfunc></tt>
    # * +calls+: the number of calls that began; +blocks+, the number of times that one of its blocks ran
    # * +total_ns+: the time of the calls; in a recursion, only the outermost call counts
    # * +self_ns+: the part of that time in which no other function ran
    # * +callers+: each {Caller}, the one with the most time first
    Function = Struct.new(:name, :path, :line, :calls, :blocks, :total_ns, :self_ns, :callers) do
      # @param rows [Array<Array>] of {Tracer}, with callers by their place
      # @return [Array<Function>]
      # @api private
      def self.all(rows)
        functions = rows.map { |*values, _callers| new(*values) }
        functions.each_with_index do |function, place|
          function.callers = rows[place].last.map { |caller, *sums| self::Caller.new(*functions[caller].first(3), *sums) }
        end
      end

      # @return [Hash{Symbol => Object}]
      def to_h = super.merge(callers: callers.map(&:to_h))
    end

    # The calls of a function by another one: the +name+, +path+ and +line+ of that, and +calls+, +blocks+ and +total_ns+ as a {Function}
    # has them.
    Function::Caller = Struct.new(:name, :path, :line, :calls, :blocks, :total_ns)
  end
end
