# frozen_string_literal: true

module Profiler
  class MethodTrace
    # The traces of all methods that a name with +*+ stands for, such as <tt>Order#*</tt> or <tt>Order.find_*</tt>: those that the
    # class or module itself defines in Ruby code. It is used as the trace of one method is.
    #
    # The limit of the overhead is for all methods together. When they exceed it, those end that take more than an equal part, and
    # the others continue. Percentiles are exact up to 8,192 calls of a method.
    class Group
      # The largest number of methods.
      MAX_METHODS = 100
      private_constant :MAX_METHODS

      # @param pattern [String]
      # @return [Group]
      # @raise [ArgumentError] if it stands for no method that can be traced, or for too many
      # @api private
      def self.begin(pattern, max_overhead:, **options)
        found, left_out = Target.matching(pattern)
        log = options.slice(*Log::DEFAULTS.keys)
        targets = found.reject { |target| MethodTrace.hindrance(target, log) }
        raise ArgumentError, "#{pattern.inspect} stands for #{left_out + found.size} methods, none of which can be traced" if targets.empty?

        if targets.size > MAX_METHODS
          raise ArgumentError, "#{pattern.inspect} stands for #{targets.size} methods (allowed: #{MAX_METHODS}): name fewer, as in \"Order#find_*\""
        end

        group = new(pattern, left_out + found.size - targets.size)
        targets.each { |target| group.add(target, size: targets.size, max_overhead: max_overhead, **options) }
        started = group
      ensure
        group&.stop unless started
      end

      # @return [String] the pattern
      attr_reader :name

      # @return [Array<MethodTrace>] the trace of each method
      attr_reader :traces

      # @return what the block of {Profiler.trace} returned
      attr_accessor :value

      # @api private
      def initialize(pattern, left_out)
        @name = pattern
        @left_out = left_out
        @traces = []
      end

      # Begins the trace of one more method. The first measures what threads do, for all.
      #
      # @api private
      def add(target, **options) = @traces << MethodTrace.of(target, sibling: @traces.first, **options)

      # Ends the traces. The methods then run as they did before.
      #
      # @return [self]
      def stop
        Thread.handle_interrupt(Object => :never) do
          @traces.reverse_each(&:stop) # what the first one measures is for all
          MethodTrace.over(self)
        end
        self
      end

      # Returns whether calls of at least one method are still traced.
      def running? = @traces.any?(&:running?)

      # @return [Integer] the number of calls that have begun
      def calls = @traces.sum(&:calls)

      # Removes and returns lines of the log that all methods share: see {MethodTrace#log}.
      #
      # @param most [Integer]
      # @return [Array<String>]
      def log(most = 1_000) = @traces.first.log(most)

      # @api private
      # @return [Array<String>] names that are an argument of none of the methods
      def labels = @traces.map(&:labels).inject(:&)

      # @return [nil] as for {MethodTrace#aftermath}: only methods in Ruby are traced together
      def aftermath = nil

      # Returns what each trace knows: +methods+ has the {MethodTrace#to_h} of each without its +log+, which they share, and
      # +left_out+ is the number of methods that cannot be traced.
      #
      # @return [Hash{Symbol => Object}]
      def to_h
        methods = @traces.map(&:to_h)
        log = methods.first.slice(:log)
        { name: @name, calls: calls, left_out: @left_out, methods: methods.map { |method| method.reject { |key, _| key == :log } }, **log }
      end

      # @return [String] the same as JSON
      def to_json(*) = JSON.generate(to_h)

      # @param columns [Integer]
      # @return [String] a line for each method
      def to_s(columns = 80, _rows = 0) = Tracer._table(@name, @traces.map(&:name), @traces.map(&:tracer), @left_out, columns)

      def inspect = "#<#{self.class} #{@name}>"
    end
  end
end
