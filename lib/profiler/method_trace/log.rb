# frozen_string_literal: true

require_relative "condition"
require_relative "facts"
require_relative "origin"
require_relative "path"
require_relative "steps"
require_relative "values"

module Profiler
  class MethodTrace
    # A line for each call that a condition lets through: when it ended, how long it took and on what, its arguments, what it
    # returned or raised, and who called it.
    #
    #   12:03:04.123  241 ms, 239 ms waiting  Order#save(id: 7, note: String(12 bytes)) returned true, from app/cart.rb:12
    #   12:03:04.789  103 ms, 101 ms waiting  Order#send with @state: "new" raised IOError, from app/cart.rb:14
    #
    # The options:
    #
    # * +args+, +returns+: true to have the classes and sizes of the arguments, and of the result
    # * +show+: an Array of names of arguments whose values are shown, or a {Path} to a part of them. +result+ stands for the result,
    #   +message+ for that of the exception, <tt>@name</tt> for the instance variable of +self+, as it is at the end of the call, and
    #   +self+ for its class. Other names are those of labels
    # * +when+: a {Condition} such as <tt>"ms > 200 and user_id == 7"</tt>, with which the limit of the trace counts logged calls
    # * +lines+: true to have the lines that the call ran, after the line of the call
    # * +save+: true to have the flight recorder save its minutes
    #
    # In running sessions, each of these calls is a marker, too.
    #
    # Its TracePoints run Ruby code in the traced method's thread, with exceptions of other threads deferred. It takes some
    # microseconds a call, which count as overhead of the trace.
    class Log
      # The largest numbers of lines that are kept, and that are written in a second.
      MAX_LINES = 1_000
      MAX_LINES_PER_SECOND = 100
      # The name by which the content of a result is requested.
      RESULT = "result"
      # The name by which the message of an exception is requested.
      MESSAGE = "message"
      # A call that has begun: its arguments as text, those that the condition asks for by name, the lines that it ran, and the last
      # exception that was raised in it.
      Call = Struct.new(:arguments, :asked, :steps, :exception)
      # The largest file whose lines are shown, in bytes.
      LARGEST = 1 << 22
      private_constant :MAX_LINES, :MAX_LINES_PER_SECOND, :RESULT, :MESSAGE, :Call, :LARGEST

      # The options that a log has, with their defaults.
      DEFAULTS = { args: false, returns: false, show: [], when: nil, lines: false, save: false }.freeze

      # @param options [Hash{Symbol => Object}] as {Profiler.trace} has them
      # @param written [Array<String>] the lines so far, of all methods that are logged together
      # @return [Log, nil] nil if none is wanted
      # @raise [ArgumentError]
      def self.of(options, target, tracer, limit, written)
        unknown = options.keys - DEFAULTS.keys
        raise ArgumentError, "unknown keyword: #{unknown.first.inspect} (allowed: limit, max_overhead, out, calls, #{DEFAULTS.keys.join(", ")})" if unknown.any?

        new(target, tracer, limit, written, **DEFAULTS, **options) if wanted?(options)
      end

      # Returns whether these options ask for a log.
      def self.wanted?(options) = options.values.any? { |value| ![nil, false, []].include?(value) }

      # @api private
      # @return [Array<String>] the lines that were not taken
      attr_reader :lines

      # @return [Integer] the number of calls that were not logged, as there were too many in a second
      attr_reader :dropped

      def initialize(target, tracer, limit, written, args:, returns:, show:, when:, lines:, save:)
        condition = binding.local_variable_get(:when)
        @target = target
        @tracer = tracer
        # Without a condition, the trace itself ends after so many calls.
        @limit = limit if condition
        @args = flag("args", args)
        @returns = flag("returns", returns)
        shown = names(show).uniq
        @values = Values.new(shown)
        share_out(shown.map { |name| Path.new(name) })
        @condition = condition && Condition.new(condition)
        @paths = @condition ? @condition.names.to_h { |name| [name, Path.new(name)] } : {}
        @with_steps = flag("lines", lines)
        @flight = flight if flag("save", save)
        @lines = written
        @origin = Origin.new
        @logged = @dropped = @second = @in_second = 0
        # Calls of each fiber that have begun: a variable of the fiber, which goes with it.
        @key = :"profiler log #{object_id}"
        @tracer._keep_finished
      end

      # @return [Array<String>] the names that are neither facts nor arguments: labels. With the lines of a call, those that are shown may
      #   be local variables as well
      def labels
        known = [*@target.arguments, Path::SELF, RESULT]
        asked = @paths.reject { |_name, path| known.include?(path.root) }.keys - Facts::NAMES
        @with_steps ? asked : asked | @others.map(&:text)
      end

      # Enables the TracePoints of the log. The VM runs hooks of the same method newest first: that of the trace, which measures,
      # is to be enabled after this one, so that it has counted a call even if an exception comes out of this one.
      def enable
        @on_call = TracePoint.new(:call, :return) { |event| event.event == :call ? called(event) : returned(event) }
        @target.enable(@on_call)
        # Exceptions are raised anywhere in what the method calls.
        (@on_raise = TracePoint.new(:raise) { |event| raised(event) }).enable if @with_message
        return unless @with_steps

        @source = source
        @on_line = TracePoint.new(:line) { |event| stepped(event) }
        @target.enable_lines(@on_line)
      end

      def disable
        [@on_line, @on_raise, @on_call].each { |tracepoint| tracepoint.disable if tracepoint&.enabled? }
      end

      # Removes and returns the oldest lines.
      #
      # @param most [Integer]
      # @return [Array<String>]
      def take(most) = @lines.shift(most)

      # @return [Array<String>] a copy of these
      def to_a = @lines.dup

      private

      # Shares out the names whose values are shown: parts of an argument and of the result, +self+ with its instance variables, and all
      # others, which are labels or local variables.
      def share_out(paths)
        of_arguments, others = paths.partition { |path| @target.arguments.include?(path.root) }
        results, others = others.partition { |path| path.root == RESULT }
        messages, others = others.partition { |path| path.text == MESSAGE }
        @with_message = messages.any?
        @of_self, @others = others.partition { |path| path.root == Path::SELF }
        @returns ||= results.any?
        @args ||= of_arguments.any?
        @parts = [*of_arguments, *results].select(&:part?).group_by(&:root)
      end

      def flag(name, value)
        return value if true.equal?(value) || false.equal?(value)

        raise ArgumentError, "#{name}: #{AnyObject.text(value)} is not allowed (allowed: true, false)"
      end

      def flight
        Flight.current or raise ArgumentError, "save: true needs a flight recorder in this process: see Profiler.flight_recorder"
      end

      def names(show)
        unless Array === show && show.all? { |name| String === name || Symbol === name }
          raise ArgumentError, "show: #{AnyObject.text(show)} is not a list of names (allowed: an Array of Strings or Symbols)"
        end

        names = show.map(&:to_s)
        wrong = names.find { |name| !name.valid_encoding? || !name.encoding.ascii_compatible? || !Path::NAME.match?(name) }
        return names unless wrong

        raise ArgumentError, "show: #{AnyObject.text(wrong)} is not a name (allowed: an argument, local variable or label such as id; an instance variable such as @id; a part such as id[0]; self; #{RESULT}; #{MESSAGE})"
      end

      def clock = Clock.now_ns

      def cpu_clock = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

      # Returns the lines of the method's file, as it is now.
      def source
        path = @target.path
        return [] unless path && File.file?(path) && File.size(path) <= LARGEST

        File.readlines(path, chomp: true, encoding: Encoding::UTF_8).map { |line| line.scrub("?") }
      rescue SystemCallError
        []
      end

      # Runs the block while exceptions of other threads wait, and lets none of its own out.
      def apart
        began = cpu_clock # as other threads may run meanwhile
        last = false
        Thread.handle_interrupt(Object => :never) do
          last = yield
        rescue StandardError, ScriptError, NoMemoryError, SystemStackError
          @dropped += 1
        end
        disable unless @tracer._logged(cpu_clock - began, last == :last)
      end

      def called(event)
        call = Call.new
        apart do
          calls = (Thread.current[@key] ||= [])
          calls << call # before what may fail, as the return takes one
          describe(call, event)
          nil
        end
        # The time of the call, and of its first line, begins when all of this is over.
        call.steps&.resume(clock)
        @tracer._restart
      end

      def describe(call, event)
        names = @target.arguments
        call.steps = Steps.new(@values, names) if @with_steps
        asked = @paths.select { |_name, path| names.include?(path.root) }
        return unless @args || asked.any?

        variables = event.binding
        value = ->(name) { variables.local_variable_get(name) }
        call.arguments = @values.list(names.flat_map { |name| with_parts(name, value.call(name)) }) if @args
        call.asked = asked.transform_values { |path| path.of(value.call(path.root)) }
      end

      # Returns the name and the value, and those of the requested parts.
      def with_parts(name, value) = [[name, value], *@parts[name]&.map { |path| [path.text, path.of(value)] }]

      def stepped(event)
        now = clock
        steps = nil
        apart do
          steps = Thread.current[@key]&.last&.steps
          steps&.add(event.lineno, event.binding, now)
          nil
        end
        steps&.resume(clock)
      end

      def raised(event)
        return unless Thread.current[@key]

        apart do
          Thread.current[@key]&.last&.exception = event.raised_exception
          nil
        end
      end

      def returned(event)
        now = clock
        apart do
          calls = Thread.current[@key]
          call = calls&.pop
          Thread.current[@key] = nil if calls && calls.empty?
          call&.steps&.finish(event.binding, now)
          ended(event, call)
        end
      end

      # @param call [Call, nil] nil if its beginning could not be described, so that nothing is known about the arguments
      # @return [Symbol, nil] +:last+ if no further call is to be logged
      def ended(event, call)
        times, raised, klass = @tracer._finished
        return unless times && call

        facts = Facts.new(times, raised, klass)
        return unless @condition.nil? || @condition.true? { |name| value_of(name, event, facts, call.asked || {}) }
        return if too_many?

        write([line(event, facts, call), *call.steps&.lines(@source)])
        Native.mark(@target.name, clock - times.first)
        @flight&.save_soon("#{@target.name} took #{facts.duration}")
        :last if @limit && (@logged += 1) >= @limit
      end

      # The value of a name in the condition.
      def value_of(name, event, facts, asked)
        path = @paths.fetch(name)
        value = asked.fetch(name) do
          case path.root
          when Path::SELF then path.part? ? path.of(event.self) : Values.module_name(path.of(event.self))
          when RESULT then path.of(event.return_value)
          else facts.value(name)
          end
        end
        Values::UNDEFINED.equal?(value) ? nil : value
      end

      def write(lines)
        @lines.shift([@lines.size + lines.size - MAX_LINES, 0].max)
        @lines.concat(lines)
      end

      def too_many?
        second = clock / 1_000_000_000
        @second, @in_second = second, 0 if second != @second
        @dropped += 1 if (over = (@in_second += 1) > MAX_LINES_PER_SECOND)
        over
      end

      def line(event, facts, call)
        arguments = call.arguments
        outcome = facts.outcome
        outcome += " #{@values.message(MESSAGE, call.exception)}" if facts.raised? && call.exception
        outcome = "returned #{result(event.return_value)}" if @returns && !facts.raised?
        origin = @origin.text
        "#{Time.now.strftime("%H:%M:%S.%L")}  #{facts.duration}  #{@target.name}#{"(#{arguments})" if arguments}#{surroundings(event)} #{outcome}#{", from #{origin}" if origin}"
      end

      # The result, and the requested parts of it.
      def result(value)
        parts = @parts[RESULT]&.map { |path| [path.text, path.of(value)] }
        "#{@values.of(RESULT, value)}#{" with #{@values.list(parts)}" if parts}"
      end

      # The requested parts of +self+, and labels.
      def surroundings(event)
        labels = @others.any? ? Profiler.labels : {}
        values = @of_self.map { |path| [path.text, path.of(event.self)] } +
                 @others.filter_map { |path| (value = labels[path.text.to_sym]) && [path.text, value] }
        " with #{@values.list(values)}" if values.any?
      end
    end
  end
end
