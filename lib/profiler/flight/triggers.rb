# frozen_string_literal: true

require_relative "../signal_name"
require_relative "ends"

module Profiler
  class Flight
    # The events at which a flight recorder writes a file by itself.
    class Triggers
      # Ends of a process, with the exceptions that they are known by.
      ENDS = %i[crash term].freeze

      # Shares of a part's busy time.
      SHARES = (0.01..1).freeze

      # The least busy time of a part, as a share of its length, of which such a share says anything.
      BUSY = 0.1
      private_constant :BUSY

      # Seconds after which a request is slow.
      attr_reader :slower_than

      # @param at [Array<Symbol>] of {ENDS}
      # @param signal [String, Symbol, nil]
      # @param slower_than [Numeric, nil] seconds of a request
      # @param gc [Numeric, nil] share of busy time
      # @param gvl [Numeric, nil] the same
      # @raise [ArgumentError]
      def initialize(at:, signal:, slower_than:, gc:, gvl:)
        wrong = Array(at) - ENDS
        raise ArgumentError, "at: #{wrong.first.inspect} is not an end (allowed: #{ENDS.map(&:inspect).join(", ")})" if wrong.any?
        raise ArgumentError, "slower_than: #{slower_than.inspect} is not a number above 0" unless slower_than.nil? || positive?(slower_than)

        @shares = { gc: gc, gvl: gvl }.compact
        @shares.each do |name, share|
          next if share.is_a?(Numeric) && share.real? && SHARES.cover?(share)

          raise ArgumentError, "#{name}: #{share.inspect} is not a share from #{SHARES.begin} to #{SHARES.end}"
        end
        @at = Array(at)
        @signal = signal && SignalName.of(signal.to_s)
        @slower_than = slower_than
      end

      # @raise [ArgumentError] if a share needs another mode
      def check(mode)
        name, share = @shares.first
        raise ArgumentError, "#{name}: #{share} needs mode: :wall" if name && !Array(mode).include?(:wall)
      end

      # Has them save the flight from now on.
      def arm(flight)
        Ends.watch if @at.any?
        Middleware.flight = flight if @slower_than
        watch_signal(flight) if @signal
      end

      # Restores what was there before {arm}.
      def disarm(flight)
        Middleware.flight = nil if @slower_than && Middleware.flight.equal?(flight)
        trap(@signal, @before || "DEFAULT") if @signal && @armed
        @armed = false
      end

      # The reason to save the flight that the end of the process is, if it is one.
      #
      # @param error [Exception, nil] the one that ends it
      # @return [String, nil]
      def end_reason(error)
        case error
        when nil, SystemExit then nil
        when SignalException then "SIGTERM" if @at.include?(:term) && error.signo == Signal.list.fetch("TERM")
        else "crash: #{error.class}" if @at.include?(:crash)
        end
      end

      # The reason to save the flight that its newest part is, if it is one.
      #
      # @param part [Profile]
      # @return [String, nil]
      def found(part)
        return if @shares.empty? || part.stats[:samples].zero?

        states = part.by(:state, limit: 0, type: :wall).map { |it| [it[:value].to_sym, it[:weight]] }.to_h
        busy = states.sum { |state, weight| state == :waiting ? 0 : weight }
        return if busy < part.stats[:duration_ns] * BUSY

        name, limit = @shares.find { |state, share| states.fetch(state, 0) > share * busy }
        name && format("%<name>s: %<share>.2f of busy time, above %<limit>s", name: name, share: states[name].fdiv(busy), limit: limit)
      end

      private

      def positive?(number) = number.is_a?(Numeric) && number.real? && number.positive?

      # A trap may not wait for locks of the thread that it interrupts.
      def watch_signal(flight)
        @armed = true
        @before = trap(@signal) do |number|
          Thread.new { flight.save_quietly("SIG#{@signal}") }
          @before.call(number) if @before.respond_to?(:call)
        end
      end
    end
  end
end
