# frozen_string_literal: true

require "json"

module Profiler
  class Control
    # The traces that clients of the control socket have started. A trace ends when its client disconnects.
    class Traces
      # The maximum number of concurrent traces.
      MAX_TRACES = 8
      # The maximum number of lines in a response.
      MAX_LINES = 500
      # A trace, the connection of its client, and the form of its result: +json+, +callgrind+, or the +columns+ and +rows+ of a text.
      Running = Struct.new(:trace, :connection, :form)
      private_constant :MAX_TRACES, :MAX_LINES, :Running

      def initialize
        @last = 0
        # By number.
        @running = {}
      end

      # Starts a trace.
      #
      # @param request [Hash] +method+, and any of the options of {Profiler.trace}; +json+, +callgrind+, +columns+ and +rows+ are for {#farewell}
      # @param connection [Integer]
      # @return [Hash] the number of the trace, the name of the method, the labels that its options name, and {MethodTrace#aftermath}
      # @raise [ArgumentError, Error]
      def begin(request, connection)
        raise ArgumentError, "#{MAX_TRACES} methods are traced already, which is the most" if @running.size >= MAX_TRACES

        method = request[:method]
        raise ArgumentError, "method: #{method.inspect} is not the name of a method" unless method.is_a?(String)

        options = { limit: request[:limit], max_overhead: request.fetch(:max_overhead, MethodTrace::MAX_OVERHEAD), calls: request.fetch(:calls, false) }
        trace = MethodTrace.begin(method, **options, **request.slice(*MethodTrace::Log::DEFAULTS.keys))
        @running[@last += 1] = Running.new(trace, connection, request.slice(:json, :callgrind, :columns, :rows))
        { trace: @last, name: trace.name, labels: trace.labels, aftermath: trace.aftermath }
      end

      # @return [Hash] whether the trace still runs, its number of calls, and if requested +lines+ of its log
      # @raise [ArgumentError] if there is no such trace
      def state(request)
        trace = find(request).trace
        running = trace.running? # before the lines, so that those of the last call are not missed
        { running: running, calls: trace.calls, lines: request[:lines] ? trace.log(MAX_LINES) : [] }
      end

      # Ends a trace, unless the request has +keep+: then it continues.
      #
      # @return [String] the result so far as JSON, in the format of callgrind, or as text that is +columns+ wide and lists +rows+ functions
      # @raise [ArgumentError] if there is no such trace
      def end(request)
        trace = find(request).trace
        unless request[:keep]
          @running.delete(request[:trace])
          trace.stop
        end
        result(trace, request)
      end

      # Hands over the results so far, as their clients get no more answers. The traces run on.
      #
      # @yieldparam connection [Integer]
      # @yieldparam trace [Integer] its number
      # @yieldparam result [String] as of {#end}; a text begins with the lines of the log that the client does not have
      def farewell
        @running.to_a.each do |number, running|
          lines = running.form[:json] ? [] : running.trace.log.map { |line| "#{line}\n" }
          yield running.connection, number, [*lines, result(running.trace, running.form)].join
        end
      end

      # Ends the traces of a client that has disconnected.
      #
      # @param connection [Integer]
      def leave(connection)
        gone, @running = @running.partition { |_number, running| running.connection == connection }.map(&:to_h)
        gone.each_value { |running| running.trace.stop }
      end

      # Ends all traces.
      def discard
        @running.each_value { |running| running.trace.stop }
        @running.clear
      end

      private

      def result(trace, form)
        return trace.to_json if form[:json]
        return trace.to_callgrind if form[:callgrind]

        trace.to_s(form[:columns].to_i.clamp(40, 1_000), *form[:rows]&.to_i&.clamp(0, 1_000_000))
      end

      def find(request)
        @running[request[:trace]] or raise ArgumentError, "trace: #{request[:trace].inspect} is not a running trace"
      end
    end
  end
end
