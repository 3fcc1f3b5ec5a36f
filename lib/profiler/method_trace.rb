# frozen_string_literal: true

require "json"
require_relative "method_trace/function"
require_relative "method_trace/group"
require_relative "method_trace/log"
require_relative "method_trace/target"

module Profiler
  # The calls of one method, each of them counted and timed: see {Profiler.trace}.
  #
  # A call's duration is wall clock time, without the time that the trace itself takes. Calls that had begun before the trace are not
  # counted. Percentiles are exact up to 131,072 calls, and at most 0.4 % off after these.
  class MethodTrace
    # The default for the largest share of one core that a trace may take.
    MAX_OVERHEAD = 0.05
    # The allowed shares.
    SHARES = (0.0001..1.0).freeze
    # The numbers of rounds, and of calls in each, that measure the overhead of other C functions; and its allowed values in ns.
    TURNS = 10
    CALLS = 200
    PRICES = (10..1_000).freeze
    # The number of functions in a text.
    ROWS = 30
    private_constant :SHARES, :TURNS, :CALLS, :PRICES

    # The running traces, so that a forked child can end its copies.
    @running = {}.compare_by_identity

    # Traces whose result is to be written when they stop: each with its {Output}, and the method that returns it.
    @unwritten = {}.compare_by_identity

    class << self
      # Begins a trace, and ends it after the block, if there is one. An exception of another thread, which may come at any
      # instant, leaves no trace that nobody can end.
      #
      # @return [MethodTrace, Group]
      # @see Profiler.trace
      # @api private
      def open(method, out: nil, **options)
        output = [Output.new(out, format: :json), form(out, options)] if out # all are bytes to it
        trace = nil
        Thread.handle_interrupt(Object => :never) do
          trace = self.begin(method, **options)
          @unwritten[trace] = output if output
        end
        if block_given?
          begin
            trace.value = yield
          ensure
            trace.stop
          end
        end
        opened = trace
      ensure
        trace&.stop if block_given? || !opened # again, as an exception may have come just before the first stop
      end

      # @return [MethodTrace, Group]
      # @api private
      def begin(method, limit:, max_overhead:, calls: false, **log)
        check(limit)
        check_calls(calls, log)
        share = AnyObject.number("max_overhead", max_overhead, "a share of a core (allowed: #{SHARES.begin} to #{SHARES.end})") { |number| SHARES.cover?(number) }
        options = { limit: limit, max_overhead: share, **log }
        return of(Target.of(method), calls: calls, **options) unless Target.pattern?(method)
        raise ArgumentError, "calls: true is for one method, and #{method.inspect} may stand for several" if calls

        Group.begin(method, **options)
      end

      # Begins the trace of one method.
      #
      # @param size [Integer] the number of traces that share the limit of the overhead
      # @param sibling [MethodTrace, nil] one of these that has begun, and measures what threads do for all of them
      # @param calls [Boolean] count what runs inside of the calls, too
      # @api private
      def of(target, limit:, max_overhead:, size: 1, sibling: nil, calls: false, **log)
        hindrance = hindrance(target, log)
        raise ArgumentError, "#{target.name} #{hindrance}" if hindrance

        trace = new(target, limit, max_overhead, log, size, sibling)
        Ends.listen(self)
        @running[trace] = true
        trace.begin(sibling.nil?, calls)
        trace
      end

      # Returns why the method cannot be traced. A log of a C function would run Ruby code at the calls of all of them. Before Ruby
      # 3.3, some methods can have only one TracePoint.
      #
      # @return [String, nil]
      # @api private
      def hindrance(target, log)
        return "is a C function: its calls can be counted but not logged" if target.c_function && Log.wanted?(log)
        return if target.shareable?
        return "is a method of define_method: before Ruby 3.3, its calls can be counted but not logged" if Log.wanted?(log)
        return unless @running.each_key.any? { |trace| trace.code.equal?(target.code) }

        "is a method of define_method, and is traced already: before Ruby 3.3, one trace at a time can do that"
      end

      # Ends all traces in a forked child. Their results are the parent's.
      #
      # @api private
      def forked(_same)
        @unwritten.clear
        @running.keys.each(&:stop)
      end

      # Ends traces whose result is to be written.
      #
      # @api private
      def process_ends(_error)
        @unwritten.keys.each(&:stop)
      end

      # Writes the result of a trace that has ended, if that was requested.
      #
      # @api private
      def over(trace)
        @running.delete(trace)
        output, form = @unwritten.delete(trace)
        output&.replace(trace.public_send(form))
      rescue *RESCUED_ERRORS => e
        Losses.warn("the result of the trace was lost: #{Losses.reason(e)}")
      end

      private

      def check(limit)
        return if limit.equal?(nil) || (Integer === limit && limit.between?(1, (1 << 62)))

        raise ArgumentError, "limit: #{AnyObject.text(limit)} is not a number of calls (allowed: an Integer from 1 on, or nil)"
      end

      # Returns the method of a trace for a file of that name.
      def form(out, options)
        case File.extname(out)
        when ".json" then :to_json
        when ".callgrind"
          raise ArgumentError, "out: #{out.inspect} needs calls: true, which counts the calls in it" unless options[:calls]

          :to_callgrind
        else :to_s
        end
      end

      # Checks +calls+. The Ruby code of a log would count as part of what it logs.
      def check_calls(calls, log)
        raise ArgumentError, "calls: #{AnyObject.text(calls)} is not allowed (allowed: true, false)" unless true.equal?(calls) || false.equal?(calls)
        raise ArgumentError, "calls: true cannot be combined with #{log.keys.join(", ")}: their code would be counted too" if calls && Log.wanted?(log)
      end
    end

    # @return [String] the name of the method, as in profiles
    attr_reader :name

    # @return what the block of {Profiler.trace} returned
    attr_accessor :value

    # @api private
    def initialize(target, limit, max_overhead, log, size, sibling)
      @target = target
      @name = target.name
      @tracer = Tracer._new((limit unless log[:when]), max_overhead.to_f, target.traits, size, sibling&.tracer)
      @log = Log.of(log, target, @tracer, limit, sibling&.written || [])
    end

    # @api private
    def begin(watch, inside)
      # Measures what threads do, without sampling them. Before Ruby 3.3 nothing reports that.
      @watch = Session.begin({ mode: :wall }, watch: true) if watch && RUBY_VERSION >= "3.3"
      calls, raises = @tracer._tracepoints
      # The VM calls the newest hook first, and the one for what runs inside is to come before that of a C function.
      everywhere = [(calls if @target.c_function), (@tracer._count_inside if inside)].compact
      @is_everywhere = everywhere.any?
      enable_everywhere(everywhere) if @is_everywhere
      @tracer._begin
      raises.enable
      @log&.enable
      @target.enable(calls) unless @target.c_function
      running = true
    ensure
      stop unless running
    end

    # @api private
    attr_reader :tracer

    # @api private
    def written = @log&.lines

    # @api private
    # @return [RubyVM::InstructionSequence, nil] the code of the method; nil for a C function
    def code = @target.code

    # Ends the trace. The method then runs as it did before. A no-op if the trace is over.
    #
    # @return [self]
    def stop
      Thread.handle_interrupt(Object => :never) do
        @tracer._end
        @log&.disable
        watch, @watch = @watch, nil
        watch&.discard
        self
      ensure
        MethodTrace.over(self)
      end
    end

    # Returns whether calls are still traced. A trace ends by itself at its limit of calls or of overhead.
    def running? = !@tracer._ended?

    # @return [Integer] the number of calls that have begun
    def calls = @tracer._calls

    # @param percents [Array<Numeric>] from 0 to 100
    # @return [Array<Integer>, nil] the durations in nanoseconds that these percentages of the calls did not exceed; nil if no call
    #   has ended
    # @raise [ArgumentError] for any other number
    def percentiles(*percents)
      numbers = percents.map { |percent| AnyObject.number("percentiles", percent, "a percentage (allowed: 0 to 100)") { |number| number.between?(0, 100) } }
      @tracer._percentiles(numbers.map(&:to_f))
    end

    # Removes and returns lines of the log, the oldest first: one for each call that was logged.
    #
    # @param most [Integer]
    # @return [Array<String>] empty if calls are not logged
    def log(most = 1_000) = @log ? @log.take(most) : []

    # @api private
    # Returns what the process pays after the trace. Ruby changes the code of all methods for a hook on all of them, and never changes
    # it back.
    #
    # @return [String, nil] nil if only the code of the method was changed
    def aftermath
      return unless @is_everywhere

      compiled = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
      "until the process ends, code with operators takes about twice as long, because Ruby does not undo a hook on all code" \
        "#{", and YJIT compiles nothing again" if compiled}"
    end

    # @return [Array<String>] names that must be labels, as the method has no such argument
    def labels = @log ? @log.labels : []

    # Returns everything that the trace knows so far. Times are nanoseconds.
    #
    # * +calls+, +finished+, +raised+, +began_before+: numbers of calls. One that +throw+ or the end of a thread left has +raised+
    #   too.
    # * +total_ns+, +shortest_ns+, +longest_ns+, +percentiles_ns+, +exact+: the durations of the calls that have finished;
    #   +histogram+ has them by powers of two, each as a lower and an upper bound and a number
    # * +running_ns+, +waiting_ns+, +gvl_ns+, +gc_ns+: what the threads did during the calls; 0 before Ruby 3.3
    # * +callers+: name, place, calls and +total_ns+ of each caller, and +other_callers+, the calls of further ones
    # * +results+, +exceptions+: numbers of calls by class, and +other_classes+, the calls that ended with further ones
    # * +duration_ns+, +own_ns+: how long the trace ran, and how much of that it took itself
    # * +other_functions+: for a C function, the calls and returns of other C functions, for which the hook ran too; with
    #   <tt>calls: true</tt>, those of all code outside of the traced calls
    # * +functions+, +unknown_callers+, +unfollowed+, +too_deep+, +unpaired+, with <tt>calls: true</tt>: what {#functions} returns, and
    #   numbers of calls: whose caller is not listed, that were in too many fibers at once or too deep to be followed, and whose
    #   end Ruby did not report
    # * +ended+: why it ended by itself, or nil
    # * +log+, +log_dropped+, if calls are logged: the lines that were not taken yet, and the number of calls that were not
    #   logged because there were more than 100 in a second
    #
    # @return [Hash{Symbol => Object}]
    def to_h
      log = { log: @log.to_a, log_dropped: @log.dropped } if @log
      summary = @tracer._summary(@name)
      summary[:functions] = Function.all(summary[:functions]).map(&:to_h) if summary[:functions]
      { name: @name, **summary, **log.to_h }
    end

    # @return [String] the same as JSON
    def to_json(*) = JSON.generate(to_h)

    # @return [String] {#functions} with their callers, for KCachegrind; the +calls+ of the file are the true numbers
    # @raise [Error] without <tt>calls: true</tt>
    def to_callgrind
      @tracer._callgrind(@name) or raise Error, "what runs inside of #{@name} was not counted: trace it with calls: true"
    end

    # @param columns [Integer]
    # @param rows [Integer] the number of functions of {#functions} that are listed; 0 for all
    # @return [String] the same as text
    def to_s(columns = 80, rows = ROWS) = @tracer._text(@name, columns, rows)

    # Returns the functions that ran inside of the calls, with exact numbers: the method itself and everything that it called,
    # directly or not, on the same fiber. Calls that are not over count up to now, or to the end of the trace.
    #
    #   trace = Profiler.trace("Order#save", calls: true) { import }
    #   trace.functions.first(3).each { |function| puts "#{function.calls} #{function.self_ns} #{function.name}" }
    #
    # @return [Array<Function>] the one with the most time of its own first; empty without <tt>calls: true</tt>
    def functions = Function.all(@tracer._summary(@name).fetch(:functions, []))

    def inspect = "#<#{self.class} #{@name}>"

    private

    # Enables TracePoints that cannot be limited to one function, and measures their overhead on other functions. No call counts
    # before the trace begins.
    def enable_everywhere(tracepoints)
      before = call_ns
      tracepoints.each(&:enable)
      @tracer._price(((call_ns - before) / 2).round.clamp(PRICES))
    end

    # Returns the nanoseconds of a call of a C function, from the fastest of some rounds.
    def call_ns
      turns = Array.new(TURNS) do
        began = Clock.now_ns
        CALLS.times { nil.to_s }
        Clock.now_ns - began
      end
      turns.min.fdiv(CALLS)
    end
  end
end
