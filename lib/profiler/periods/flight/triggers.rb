# frozen_string_literal: true

require_relative "../../process/signal_name"

module Profiler
  class Flight < Always
    # The events at which a flight recorder writes a file by itself.
    class Triggers
      # The ends of a process: by an exception, by SIGTERM, or in any other way that runs its +at_exit+ blocks.
      ENDS = %i[crash term exit].freeze

      # Signals that end a process, and would not do so with a handler.
      FINAL = %w[TERM INT QUIT ABRT].freeze

      # The allowed shares of a part's busy time.
      SHARES = (0.01..1).freeze

      # The minimum busy time of a part, as a share of its length. In a part with less, shares of the busy time mean nothing.
      BUSY = 0.1
      private_constant :BUSY

      # The time in seconds after which a request is slow.
      attr_reader :slower_than

      # @param at [Array<Symbol>] any of {ENDS}
      # @param slower_than [Numeric, nil] seconds of a request
      # @param gc_above [Numeric, nil] share of busy time
      # @param gvl_above [Numeric, nil] the same
      def initialize(at:, signal:, slower_than:, gc_above:, gvl_above:, mode:)
        wrong = AnyObject.list(at).reject { |it| ENDS.include?(it) }
        raise ArgumentError, "at: #{AnyObject.text(wrong.first)} is not an end (allowed: #{ENDS.map(&:inspect).join(", ")})" unless wrong.empty?
        slower_than = AnyObject.number("slower_than", slower_than, "a number above 0", &:positive?) unless slower_than.equal?(nil)

        @shares = { gc: gc_above, gvl: gvl_above }.compact.to_h { |name, share| [name, share_of(name, share)] }
        raise ArgumentError, "gvl_above: #{@shares[:gvl]} needs Ruby 3.3 or later" if @shares.key?(:gvl) && RUBY_VERSION < "3.3"

        name, share = @shares.first
        raise ArgumentError, "#{name}_above: #{share} needs mode: :wall" if name && !AnyObject.list(mode).include?(:wall)

        @at = AnyObject.list(at)
        @signal = signal && checked_signal(AnyObject.word("signal", signal))
        @slower_than = slower_than
      end

      # Arms the triggers, so that they save the flight from now on.
      def arm(flight)
        Middleware.flight = flight if @slower_than
        watch_signal(flight) if @signal
      end

      # Restores the state before {arm}.
      def disarm(flight)
        Middleware.flight = nil if @slower_than && Middleware.flight.equal?(flight)
        return unless @handler

        handler, @handler = @handler, nil
        there = trap(@signal, @before || "DEFAULT")
        trap(@signal, there) unless there.equal?(handler) # the app has set its own since
      end

      # Returns why the end of the process writes a file, such as +SIGTERM+; nil if it does not.
      #
      # @param error [Exception, nil] the exception that ends it
      def end_reason(error)
        term = error.is_a?(SignalException) && error.signo == Signal.list.fetch("TERM")
        crash = !(error.nil? || error.is_a?(SystemExit) || error.is_a?(SignalException))
        return "SIGTERM" if term && @at.include?(:term)
        return "crash: #{error.class}" if crash && @at.include?(:crash)

        "exit" if @at.include?(:exit)
      end

      # Returns why the newest part writes a file, such as a share of GC above the limit; nil if it does not.
      #
      # @param seconds [Numeric] its length, unless it was cut short
      def found(part, seconds)
        return if @shares.empty? || part.stats[:samples].zero? || part.stats[:duration_ns] < seconds * 0.5e9

        states = part.by(:state, limit: 0, type: :wall).map { |it| [it[:value].to_sym, it[:weight]] }.to_h
        busy = states.sum { |state, weight| state == :waiting ? 0 : weight }
        return if busy < part.stats[:duration_ns] * BUSY

        name, limit = @shares.find { |state, share| states.fetch(state, 0) > share * busy }
        name && format("%<name>s: %<share>.2f of busy time, above %<limit>s", name: name, share: states[name].fdiv(busy), limit: limit)
      end

      private

      def share_of(name, share)
        AnyObject.number("#{name}_above", share, "a share from #{SHARES.begin} to #{SHARES.end}") { |number| SHARES.cover?(number) }
      end

      def checked_signal(text)
        name = SignalName.of(text)
        return name unless FINAL.include?(name)

        raise ArgumentError, "signal: #{text.inspect} would end the process (allowed: USR1, USR2, URG and similar ones; to save when the process ends, pass at:)"
      end

      def watch_signal(flight)
        @handler = proc do |number|
          flight.save_soon("SIG#{@signal}")
          @before.call(number) if @before.respond_to?(:call)
        end
        @before = trap(@signal, @handler)
      end
    end
  end
end
